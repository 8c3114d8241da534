{{/*
Annotations that keep WebSockets and long requests open, by controller. Traefik has no timeout of an upgraded connection; its entry points
may need respondingTimeouts.readTimeout=0 in its own configuration (docs/deploy/kubernetes.md).
*/}}
{{- define "session-service.ingressAnnotations" -}}
{{- $timeout := int .Values.ingress.timeout -}}
{{- $annotations := dict -}}
{{- if eq .Values.ingress.controller "nginx" -}}
{{- $_ := set $annotations "nginx.ingress.kubernetes.io/proxy-read-timeout" (toString $timeout) -}}
{{- $_ := set $annotations "nginx.ingress.kubernetes.io/proxy-send-timeout" (toString $timeout) -}}
{{- $_ := set $annotations "nginx.ingress.kubernetes.io/proxy-http-version" "1.1" -}}
{{- else if eq .Values.ingress.controller "haproxy" -}}
{{/* The two controllers of that name. */}}
{{- $_ := set $annotations "haproxy.org/timeout-tunnel" (printf "%ds" $timeout) -}}
{{- $_ := set $annotations "haproxy.org/timeout-server" (printf "%ds" $timeout) -}}
{{- $_ := set $annotations "haproxy.org/forwarded-for" "true" -}}
{{- $_ := set $annotations "haproxy-ingress.github.io/timeout-tunnel" (printf "%ds" $timeout) -}}
{{- $_ := set $annotations "haproxy-ingress.github.io/timeout-server" (printf "%ds" $timeout) -}}
{{- else if eq .Values.ingress.controller "traefik" -}}
{{- $_ := set $annotations "traefik.ingress.kubernetes.io/router.entrypoints" (ternary "websecure" "web" .Values.ingress.tls.enabled) -}}
{{- if .Values.ingress.tls.enabled -}}
{{- $_ := set $annotations "traefik.ingress.kubernetes.io/router.tls" "true" -}}
{{- end -}}
{{- else if eq .Values.ingress.controller "alb" -}}
{{- $_ := set $annotations "alb.ingress.kubernetes.io/target-type" "ip" -}}
{{- $_ := set $annotations "alb.ingress.kubernetes.io/load-balancer-attributes" (printf "idle_timeout.timeout_seconds=%d" (min $timeout 4000)) -}}
{{- $_ := set $annotations "alb.ingress.kubernetes.io/healthcheck-port" (toString (int (.Values.master.config.SERVICE_OPS_PORT | default 4480))) -}}
{{- $_ := set $annotations "alb.ingress.kubernetes.io/healthcheck-path" "/readyz" -}}
{{- if .Values.ingress.tls.enabled -}}
{{- $_ := set $annotations "alb.ingress.kubernetes.io/listen-ports" `[{"HTTPS":443}]` -}}
{{- end -}}
{{- end -}}
{{- toYaml (mergeOverwrite $annotations .Values.ingress.annotations) -}}
{{- end -}}
