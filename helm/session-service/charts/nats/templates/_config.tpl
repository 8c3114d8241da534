{{/* Users with the permissions of their roles. Passwords are variables, so that the configuration contains no secret. */}}
{{- define "session-service.natsConfig" -}}
{{- $full := include "session-service.fullname" . -}}
port: 4222
http_port: 8222
pid_file: "/tmp/nats.pid"
{{- if gt (int .Values.replicas) 1 }}
# Less than the grace period of the pod.
lame_duck_duration: "30s"
lame_duck_grace_period: "5s"
{{- end }}
ping_interval: "20s"
max_payload: 1MB
{{- if gt (int .Values.replicas) 1 }}
server_name: $POD_NAME
cluster {
  name: {{ $full | quote }}
  port: 6222
  authorization { user: "route", password: $ROUTE_PASSWORD, timeout: 5 }
  # An array with the addresses of all servers; nats-server replaces no variable inside of a text.
  routes: $ROUTES
}
{{- end }}
{{ .Files.Get "files/authorization.conf" | replace "<cluster>" .Values.global.busCluster }}
{{- end -}}
