{{- define "session-service.dnsEgress" -}}
- ports:
    - port: 53
      protocol: UDP
    - port: 53
      protocol: TCP
{{- end -}}

{{/* Families of the addresses of a Service; global, because the charts of NATS and Postgres use it too. */}}
{{- define "session-service.ipFamilies" -}}
{{- $global := .Values.global | default dict -}}
{{- with $global.ipFamilyPolicy }}
ipFamilyPolicy: {{ . }}
{{- end }}
{{- with $global.ipFamilies }}
ipFamilies:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/*
The load balancers of GKE and ALB, as peers of the masters: they are no pods, and connect to the pods themselves for
requests and health checks. Those of GKE have fixed networks, those of ALB the addresses of its subnets.
*/}}
{{- define "session-service.loadBalancerPeers" -}}
{{- $ingress := ternary .Values.ingress.controller "" .Values.ingress.enabled -}}
{{- $gateway := ternary .Values.gateway.controller "" .Values.gateway.enabled -}}
{{- $networks := list -}}
{{- if has "gke" (list $ingress $gateway) -}}
{{- $networks = list "35.191.0.0/16" "130.211.0.0/22" "2600:2d00:1:b029::/64" "2600:2d00:1:1::/64" -}}
{{- end -}}
{{- if eq $ingress "alb" -}}
{{- range .Values.trustedProxies -}}
{{- $networks = append $networks (ternary . (printf "%s/%d" . (ternary 128 32 (contains ":" .))) (contains "/" .)) -}}
{{- end -}}
{{- end -}}
{{- range $networks }}
- ipBlock:
    cidr: {{ . | quote }}
{{- end }}
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
