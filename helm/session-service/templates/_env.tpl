{{/* The text of a property: numbers without exponent, lists and objects as JSON. */}}
{{- define "session-service.text" -}}
{{- if kindIs "float64" . -}}
{{ eq (float64 (int64 .)) . | ternary (int64 . | toString) (regexReplaceAll "0+$" (printf "%f" .) "") }}
{{- else if or (kindIs "slice" .) (kindIs "map" .) -}}
{{ toJson . }}
{{- else -}}
{{ toString . }}
{{- end -}}
{{- end -}}

{{/* Plain variables: dict "values" {NAME: value}; empty ones are left out, as the processes treat them as not set. */}}
{{- define "session-service.plainEnv" -}}
{{- range $name, $value := .values }}
{{- $text := include "session-service.text" $value }}
{{- if $text }}
- name: {{ $name }}
  value: {{ $text | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "session-service.secretEnv" -}}
- name: {{ .name }}
  valueFrom:
    secretKeyRef:
      name: {{ .secret }}
      key: {{ .key }}
{{- end -}}

{{- define "session-service.podIpEnv" -}}
- name: POD_IP
  valueFrom:
    fieldRef:
      fieldPath: status.podIP
{{- end -}}

{{/* Variables for the database; "migration" reads the Secret that exists before the release does. */}}
{{- define "session-service.databaseEnv" -}}
{{- $full := include "session-service.fullname" .root -}}
{{- $external := .root.Values.externalPostgres -}}
{{- if .root.Values.postgres.enabled -}}
{{ include "session-service.secretEnv" (dict "name" "POSTGRES_PASSWORD" "secret" (include "session-service.postgresSecret" .root) "key" "password") }}
- name: DATABASE_URL
  value: postgres://session_service:$(POSTGRES_PASSWORD)@{{ $full }}-postgres:5432/session_service
{{- else if $external.existingSecret -}}
{{ include "session-service.secretEnv" (dict "name" "DATABASE_URL" "secret" $external.existingSecret "key" $external.key) }}
{{- else -}}
{{ include "session-service.secretEnv" (dict "name" "DATABASE_URL" "secret" (ternary (printf "%s-migrate" $full) (printf "%s-database" $full) (.migration | default false)) "key" "DATABASE_URL") }}
{{- end -}}
{{- end -}}

{{/* dict "root" $ "role" "master"|"node" */}}
{{- define "session-service.natsEnv" -}}
{{- $full := include "session-service.fullname" .root -}}
{{- $external := .root.Values.externalNats -}}
{{- $key := ternary "masterUrl" "nodeUrl" (eq .role "master") -}}
{{- if .root.Values.nats.enabled -}}
{{ include "session-service.secretEnv" (dict "name" "NATS_PASSWORD" "secret" (include "session-service.natsSecret" .root) "key" .role) }}
- name: NATS_URL
  value: nats://{{ .root.Values.global.busCluster }}-{{ .role }}:$(NATS_PASSWORD)@{{ $full }}-nats:4222
{{- else if $external.existingSecret -}}
{{ include "session-service.secretEnv" (dict "name" "NATS_URL" "secret" $external.existingSecret "key" (get $external (printf "%sKey" $key))) }}
{{- else -}}
{{ include "session-service.secretEnv" (dict "name" "NATS_URL" "secret" (printf "%s-nats" $full) "key" $key) }}
{{- end -}}
{{- end -}}

{{/* Secret properties of the user: from their Secrets, or from that of the chart. dict "root" $ "component" "master" or "media-node" "sources" <by name> */}}
{{- define "session-service.secretConfigEnv" -}}
{{- $own := printf "%s-%s" (include "session-service.fullname" .root) .component -}}
{{- range $name, $source := .sources }}
{{ include "session-service.secretEnv" (dict "name" $name "secret" ($source.existingSecret | default $own) "key" ($source.key | default $name)) }}
{{- end }}
{{- end -}}

{{- define "session-service.turnEnv" -}}
{{- $turn := .Values.turn -}}
{{- $servers := list -}}
{{- if $turn.udp -}}
{{- $servers = append $servers (printf "url=turn:%s:3478?transport=udp,staticAuthSecret=$(TURN_SECRET)" $turn.host) -}}
{{- end -}}
{{- if $turn.tls.enabled -}}
{{- $servers = append $servers (printf "url=turns:%s:%d?transport=tcp,staticAuthSecret=$(TURN_SECRET)" $turn.host (int $turn.tls.port)) -}}
{{- end -}}
{{ include "session-service.secretEnv" (dict "name" "TURN_SECRET" "secret" (include "session-service.turnSecret" .) "key" (include "session-service.turnSecretKey" .)) }}
- name: SERVICE_WEBRTC_ICE_SERVERS
  value: {{ toJson $servers | quote }}
{{- end -}}

{{- define "session-service.s3Env" -}}
{{- $s3 := .Values.recording.s3 -}}
{{- $full := include "session-service.fullname" . -}}
{{- if or $s3.existingSecret $s3.accessKey }}
{{- $secret := $s3.existingSecret | default (printf "%s-s3" $full) }}
{{ include "session-service.secretEnv" (dict "name" "SERVICE_PRO_AWS_ACCESS_KEY" "secret" $secret "key" $s3.accessKeyKey) }}
{{ include "session-service.secretEnv" (dict "name" "SERVICE_PRO_AWS_SECRET_KEY" "secret" $secret "key" $s3.secretKeyKey) }}
{{- end }}
{{- end -}}

{{/* Properties of masters that follow from other values, as JSON. */}}
{{- define "session-service.masterProperties" -}}
{{- $full := include "session-service.fullname" . -}}
{{- $scaling := .Values.mediaNodes.scaling -}}
{{- $values := dict
  "SERVICE_BUS_CLUSTER" .Values.global.busCluster
  "SERVICE_PUBLICURL" (include "session-service.publicUrl" .)
  "SERVICE_TRUSTED_PROXIES" .Values.trustedProxies
  "SERVICE_SHUTDOWN_DELAY" .Values.master.shutdownDelay -}}
{{- if include "session-service.usesKubernetes" . -}}
{{- $_ := set $values "SERVICE_PRO_CLUSTER_ENVIRONMENT" "kubernetes" -}}
{{- $selector := printf "app.kubernetes.io/name=session-service,app.kubernetes.io/instance=%s,app.kubernetes.io/component=media-node" .Release.Name -}}
{{- $_ := set $values "SERVICE_KUBERNETES_POD_SELECTOR" $selector -}}
{{- else -}}
{{/* A pod that replaces another has another id: without a limit the former one would stay in the list for ever. */}}
{{- $_ := set $values "SERVICE_PRO_CLUSTER_RECONNECTION_TIMEOUT" 30 -}}
{{- end -}}
{{- if eq $scaling.mode "driver" -}}
{{- $_ := set $values "SERVICE_KUBERNETES_POD_TEMPLATE" (printf "%s-media-node" $full) -}}
{{- $_ := set $values "SERVICE_PRO_CLUSTER_AUTOSCALING" true -}}
{{- $_ := set $values "SERVICE_PRO_CLUSTER_AUTOSCALING_MIN_NODES" $scaling.min -}}
{{- $_ := set $values "SERVICE_PRO_CLUSTER_AUTOSCALING_MAX_NODES" $scaling.max -}}
{{- end -}}
{{- if .Values.recording.enabled -}}
{{- $_ := set $values "SERVICE_RECORDING" true -}}
{{- $_ := set $values "SERVICE_RECORDING_UPLOAD_URL" (printf "http://%s-master:%d" $full (int .Values.master.service.port)) -}}
{{- if eq .Values.recording.storage "s3" -}}
{{- $s3 := .Values.recording.s3 -}}
{{- $_ := set $values "SERVICE_PRO_RECORDING_STORAGE" "s3" -}}
{{- $_ := set $values "SERVICE_PRO_AWS_S3_BUCKET" $s3.bucket -}}
{{- $_ := set $values "SERVICE_PRO_AWS_S3_SERVICE_ENDPOINT" $s3.endpoint -}}
{{- $_ := set $values "SERVICE_PRO_AWS_REGION" $s3.region -}}
{{- $_ := set $values "SERVICE_PRO_AWS_S3_WITH_PATH_STYLE_ACCESS" $s3.pathStyle -}}
{{- end -}}
{{- end -}}
{{- if .Values.callRecords.enabled -}}
{{- $_ := set $values "SERVICE_CDR" true -}}
{{- end -}}
{{- if .Values.turn.enabled -}}
{{- $_ := set $values "TURN_CREDENTIALS_TTL" .Values.turn.credentialsTtl -}}
{{- end -}}
{{- if .Values.ipv6 -}}
{{- $_ := set $values "SERVICE_HOST" "::" -}}
{{- $_ := set $values "SERVICE_OPS_HOST" "::" -}}
{{- end -}}
{{- toJson (mergeOverwrite $values .Values.master.config) -}}
{{- end -}}

{{- define "session-service.masterEnv" -}}
{{- $full := include "session-service.fullname" . -}}
{{ include "session-service.podIpEnv" . }}
{{ include "session-service.secretEnv" (dict "name" "SERVICE_SECRET" "secret" (include "session-service.apiSecret" .) "key" .Values.apiSecret.key) }}
{{ include "session-service.databaseEnv" (dict "root" .) }}
{{ include "session-service.natsEnv" (dict "root" . "role" "master") }}
{{- if .Values.turn.enabled }}
{{ include "session-service.turnEnv" . }}
{{- end }}
{{- if and .Values.recording.enabled (eq .Values.recording.storage "s3") }}
{{- include "session-service.s3Env" . }}
{{- end }}
{{- include "session-service.secretConfigEnv" (dict "root" . "component" "master" "sources" .Values.master.secretConfig) }}
{{- include "session-service.plainEnv" (dict "values" (include "session-service.masterProperties" . | fromJson)) }}
{{- with .Values.master.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Properties of media nodes that follow from other values, as JSON. dict "root" $ "slot" <index of the set of ports> */}}
{{- define "session-service.mediaNodeProperties" -}}
{{- $nodes := .root.Values.mediaNodes -}}
{{- $address := $nodes.announcedAddress.value -}}
{{- if eq $nodes.exposure.mode "turnOnly" -}}
{{- $address = $address | default "$(POD_IP)" -}}
{{- end -}}
{{- if eq $nodes.exposure.mode "loadBalancerPerPod" -}}
{{- $address = (index $nodes.exposure.loadBalancerPerPod.slots (int .slot)).address -}}
{{- end -}}
{{- $values := dict
  "SERVICE_BUS_CLUSTER" .root.Values.global.busCluster
  "SERVICE_OPS_PORT" $nodes.opsPort
  "MEDIA_NODE_WORKERS" $nodes.workers
  "MEDIA_NODE_RTC_PORT" (add (int $nodes.rtcPort) (mul (int $nodes.workers) (int (.slot | default 0))))
  "MEDIA_NODE_DRAIN_TIMEOUT" $nodes.drainTimeout
  "MEDIA_NODE_ANNOUNCED_ADDRESS" $address
  "MEDIA_NODE_ADDRESS_SOURCES" ($nodes.announcedAddress.sources | default "")
  "MEDIA_NODE_STUN_SERVER" $nodes.announcedAddress.stunServer -}}
{{- if .root.Values.recording.enabled -}}
{{- $_ := set $values "MEDIA_NODE_RECORDING_FINISH_TIMEOUT" .root.Values.recording.finishTimeout -}}
{{- end -}}
{{- if $nodes.announcedAddress.fromNode -}}
{{- $_ := set $values "MEDIA_NODE_ANNOUNCED_ADDRESS_FILE" "/etc/session-service/pod/announced-address" -}}
{{- end -}}
{{- if .root.Values.ipv6 -}}
{{- $_ := set $values "SERVICE_OPS_HOST" "::" -}}
{{- $_ := set $values "MEDIA_NODE_IP" "::" -}}
{{- end -}}
{{- toJson (mergeOverwrite $values $nodes.config) -}}
{{- end -}}

{{- define "session-service.mediaNodeEnv" -}}
{{ include "session-service.podIpEnv" . }}
- name: MEDIA_NODE_HOST_IP
  valueFrom:
    fieldRef:
      fieldPath: status.hostIP
{{- if ne .root.Values.mediaNodes.scaling.mode "driver" }}
{{- range list "MEDIA_NODE_ID" "MEDIA_NODE_ENVIRONMENT_ID" }}
- name: {{ . }}
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
{{- end }}
{{- end }}
{{ include "session-service.natsEnv" (dict "root" .root "role" "node") }}
{{- include "session-service.secretConfigEnv" (dict "root" .root "component" "media-node" "sources" .root.Values.mediaNodes.secretConfig) }}
{{- include "session-service.plainEnv" (dict "values" (include "session-service.mediaNodeProperties" . | fromJson)) }}
{{- with .root.Values.mediaNodes.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}
