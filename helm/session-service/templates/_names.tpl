{{/* Prefix of all names; global, because the charts of NATS and Postgres use it too. */}}
{{- define "session-service.fullname" -}}
{{- $name := "session-service" -}}
{{- $override := (.Values.global | default dict).fullnameOverride -}}
{{- $release := .Release.Name -}}
{{- $full := $override | default (ternary $release (printf "%s-%s" $release $name) (contains $name $release)) -}}
{{/* 40 characters leave room for the suffixes; a dot would make a name longer than one DNS label. */}}
{{- $full | replace "." "-" | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* The label "cluster" of all metrics that the monitors of the release read. */}}
{{- define "session-service.clusterLabel" -}}
{{ .Release.Namespace }}/{{ include "session-service.fullname" . }}
{{- end -}}

{{/* dict "root" $ "component" "master" */}}
{{- define "session-service.selectorLabels" -}}
app.kubernetes.io/name: session-service
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "session-service.labels" -}}
{{ include "session-service.selectorLabels" . }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | default .root.Chart.Version | quote }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* dict "root" $ "image" {repository, tag, digest}; "suffix" of the tag */}}
{{- define "session-service.image" -}}
{{- $registry := (.root.Values.global | default dict).imageRegistry | default "" | trimSuffix "/" -}}
{{- $name := ternary .image.repository (printf "%s/%s" $registry .image.repository) (empty $registry) -}}
{{- if .image.digest -}}
{{ $name }}@{{ .image.digest }}
{{- else -}}
{{ $name }}:{{ .image.tag | default .root.Chart.AppVersion }}{{ .suffix | default "" }}
{{- end -}}
{{- end -}}

{{- define "session-service.imagePullSecrets" -}}
{{- with (.Values.global | default dict).imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "session-service.publicUrl" -}}
{{- if .Values.publicUrl -}}
{{ .Values.publicUrl }}
{{- else if .Values.ingress.enabled -}}
{{ ternary "https" "http" .Values.ingress.tls.enabled }}://{{ .Values.ingress.host }}
{{- else if .Values.gateway.enabled -}}
https://{{ .Values.gateway.host }}
{{- else -}}
http://localhost:4443
{{- end -}}
{{- end -}}

{{/* Pods of the service that need no Kubernetes API have no token. */}}
{{- define "session-service.masterServiceAccount" -}}
{{- .Values.serviceAccount.masterName | default (ternary (printf "%s-master" (include "session-service.fullname" .)) "default" .Values.serviceAccount.create) -}}
{{- end -}}

{{/* "true" when the masters use the Kubernetes API. */}}
{{- define "session-service.usesKubernetes" -}}
{{- if or (ne .Values.mediaNodes.scaling.mode "fixed") .Values.mediaNodes.announcedAddress.fromNode -}}true{{- end -}}
{{- end -}}

{{/* "true" when each media node has a Deployment and a Service of its own. */}}
{{- define "session-service.hasSlots" -}}
{{- if has .Values.mediaNodes.exposure.mode (list "nodePort" "loadBalancerPerPod") -}}true{{- end -}}
{{- end -}}

{{/* How many sets of ports pods of the release may have on one machine, or of slots of the cluster. */}}
{{- define "session-service.mediaNode.portSets" -}}
{{- $exposure := .Values.mediaNodes.exposure -}}
{{- if include "session-service.hasSlots" . -}}
{{ include "session-service.mediaNode.count" . }}
{{- else if and (eq $exposure.mode "hostPort") $exposure.hostPort.alternatePorts -}}
2
{{- else -}}
1
{{- end -}}
{{- end -}}

{{- define "session-service.mediaNode.lastPort" -}}
{{- $sets := include "session-service.mediaNode.portSets" . | int -}}
{{- sub (add (int .Values.mediaNodes.rtcPort) (mul (int .Values.mediaNodes.workers) $sets)) 1 -}}
{{- end -}}

{{- define "session-service.mediaNode.count" -}}
{{- if eq .Values.mediaNodes.exposure.mode "loadBalancerPerPod" -}}
{{ len .Values.mediaNodes.exposure.loadBalancerPerPod.slots }}
{{- else -}}
{{ int .Values.mediaNodes.replicas }}
{{- end -}}
{{- end -}}

{{/* Seconds between the start of a drain and the last delivery of a recording. */}}
{{- define "session-service.mediaNode.longestDrain" -}}
{{ add (int .Values.mediaNodes.drainTimeout) (ternary (int .Values.recording.finishTimeout) 0 .Values.recording.enabled) }}
{{- end -}}

{{- define "session-service.mediaNode.grace" -}}
{{- $own := int .Values.mediaNodes.terminationGracePeriodSeconds -}}
{{- if $own -}}{{ $own }}{{- else -}}{{ add (include "session-service.mediaNode.longestDrain" . | int) 60 }}{{- end -}}
{{- end -}}

{{- define "session-service.mediaNode.variant" -}}
{{- $speech := .Values.master.config.SERVICE_PRO_SPEECH_TO_TEXT | default "disabled" -}}
{{- .Values.mediaNodes.image.variant | default (ternary "full" "media" (or .Values.recording.enabled (ne $speech "disabled"))) -}}
{{- end -}}
