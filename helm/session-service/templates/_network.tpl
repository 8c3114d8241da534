{{- define "session-service.dnsEgress" -}}
- ports:
    - port: 53
      protocol: UDP
    - port: 53
      protocol: TCP
{{- end -}}

{{/* To the pods of the release, or by port to an external server. dict "root" $ "components" [nats, postgres] */}}
{{- define "session-service.dependencyEgress" -}}
{{- range .components }}
{{- $isOwn := (get $.root.Values .).enabled }}
- ports:
    - port: {{ ternary 4222 5432 (eq . "nats") }}
  {{- if $isOwn }}
  to:
    - podSelector:
        matchLabels:
          {{- include "session-service.selectorLabels" (dict "root" $.root "component" .) | nindent 10 }}
  {{- end }}
{{- end }}
{{- end -}}
