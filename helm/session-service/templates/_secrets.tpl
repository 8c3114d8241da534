{{/*
The value of a secret that the chart owns: from the values, else from the cluster, else generated. The first result is
kept for the whole rendering, so that checksums agree with the Secret. dict "root" $ "name" <Secret> "key" <key>
"value" <from the values> "path" <name of that value>
*/}}
{{- define "session-service.secretValue" -}}
{{- $cache := .root.Values.generatedSecrets | default dict -}}
{{- $id := printf "%s/%s" .name .key -}}
{{- if not (hasKey $cache $id) -}}
{{- $value := .value -}}
{{- if not $value -}}
{{- $data := (lookup "v1" "Secret" .root.Release.Namespace .name).data | default dict -}}
{{- $value = get $data .key | default "" | b64dec -}}
{{- end -}}
{{- if not $value -}}
{{- if not .root.Values.generateSecrets -}}
{{- fail (printf "%s: set it or its existingSecret, because generateSecrets is false" .path) -}}
{{- end -}}
{{/* First a letter: nats-server takes a value that begins with a digit for a number. */}}
{{- $value = printf "s%s" (randAlphaNum 31) -}}
{{- end -}}
{{- $_ := set $cache $id $value -}}
{{- $_ := set .root.Values "generatedSecrets" $cache -}}
{{- end -}}
{{- get $cache $id -}}
{{- end -}}

{{- define "session-service.apiSecret" -}}
{{- .Values.apiSecret.existingSecret | default (printf "%s-api" (include "session-service.fullname" .)) -}}
{{- end -}}
{{- define "session-service.natsSecret" -}}
{{- .Values.nats.auth.existingSecret | default (printf "%s-nats" (include "session-service.fullname" .)) -}}
{{- end -}}
{{- define "session-service.postgresSecret" -}}
{{- .Values.postgres.auth.existingSecret | default (printf "%s-postgres" (include "session-service.fullname" .)) -}}
{{- end -}}
{{- define "session-service.turnSecret" -}}
{{- .Values.turn.secret.existingSecret | default (printf "%s-turn" (include "session-service.fullname" .)) -}}
{{- end -}}
{{- define "session-service.turnSecretKey" -}}
{{- ternary .Values.turn.secret.key "TURN_SECRET" (not (empty .Values.turn.secret.existingSecret)) -}}
{{- end -}}

{{/* The Secrets of the chart as JSON: {suffix: {component, data}}. */}}
{{- define "session-service.secrets" -}}
{{- $full := include "session-service.fullname" . -}}
{{- $secrets := dict -}}
{{- if not .Values.apiSecret.existingSecret -}}
{{- $value := include "session-service.secretValue" (dict "root" . "name" (printf "%s-api" $full) "key" .Values.apiSecret.key "value" .Values.apiSecret.value "path" "apiSecret.value") -}}
{{- $_ := set $secrets "api" (dict "component" "master" "data" (dict .Values.apiSecret.key $value)) -}}
{{- end -}}
{{- if .Values.nats.enabled -}}
{{- if not .Values.nats.auth.existingSecret -}}
{{- $name := printf "%s-nats" $full -}}
{{- $master := include "session-service.secretValue" (dict "root" . "name" $name "key" "master" "value" .Values.nats.auth.masterPassword "path" "nats.auth.masterPassword") -}}
{{- $node := include "session-service.secretValue" (dict "root" . "name" $name "key" "node" "value" .Values.nats.auth.nodePassword "path" "nats.auth.nodePassword") -}}
{{- $data := dict "master" $master "node" $node -}}
{{- if gt (int .Values.nats.replicas) 1 -}}
{{/* Derived: the servers of the cluster need the same one, also without access to the cluster. */}}
{{- $_ := set $data "route" (printf "r%s" (sha256sum (printf "%s/%s/route" $master $node) | trunc 40)) -}}
{{- end -}}
{{- $_ := set $secrets "nats" (dict "component" "nats" "data" $data) -}}
{{- end -}}
{{- else if not .Values.externalNats.existingSecret -}}
{{- $_ := set $secrets "nats" (dict "component" "nats" "data" (dict "masterUrl" .Values.externalNats.masterUrl "nodeUrl" .Values.externalNats.nodeUrl)) -}}
{{- end -}}
{{- if .Values.postgres.enabled -}}
{{- if not .Values.postgres.auth.existingSecret -}}
{{- $value := include "session-service.secretValue" (dict "root" . "name" (printf "%s-postgres" $full) "key" "password" "value" .Values.postgres.auth.password "path" "postgres.auth.password") -}}
{{- $_ := set $secrets "postgres" (dict "component" "postgres" "data" (dict "password" $value)) -}}
{{- end -}}
{{- else if not .Values.externalPostgres.existingSecret -}}
{{/* Not that of the bundled Postgres, whose password must outlive the use of another database. */}}
{{- $_ := set $secrets "database" (dict "component" "master" "data" (dict "DATABASE_URL" .Values.externalPostgres.url)) -}}
{{- end -}}
{{- if and .Values.turn.enabled (not .Values.turn.secret.existingSecret) -}}
{{- $value := include "session-service.secretValue" (dict "root" . "name" (printf "%s-turn" $full) "key" "TURN_SECRET" "value" .Values.turn.secret.value "path" "turn.secret.value") -}}
{{- $_ := set $secrets "turn" (dict "component" "turn" "data" (dict "TURN_SECRET" $value)) -}}
{{- end -}}
{{- if and .Values.recording.enabled (eq .Values.recording.storage "s3") .Values.recording.s3.accessKey (not .Values.recording.s3.existingSecret) -}}
{{- $s3 := .Values.recording.s3 -}}
{{- $_ := set $secrets "s3" (dict "component" "master" "data" (dict $s3.accessKeyKey $s3.accessKey $s3.secretKeyKey $s3.secretKey)) -}}
{{- end -}}
{{- range $component, $sources := dict "master" .Values.master.secretConfig "media-node" .Values.mediaNodes.secretConfig -}}
{{- $own := dict -}}
{{- range $name, $source := $sources -}}
{{- if not $source.existingSecret -}}
{{- $_ := set $own ($source.key | default $name) (include "session-service.text" $source.value) -}}
{{- end -}}
{{- end -}}
{{- if $own -}}
{{- $_ := set $secrets $component (dict "component" $component "data" $own) -}}
{{- end -}}
{{- end -}}
{{- toJson $secrets -}}
{{- end -}}

{{/* Pods start again when a secret that they use changes. dict "root" $ "keys" ["api", "nats/master"]: Secrets, or one key */}}
{{- define "session-service.secretsChecksum" -}}
{{- $all := include "session-service.secrets" .root | fromJson -}}
{{- $used := dict -}}
{{- range $path := .keys -}}
{{- $parts := splitList "/" $path -}}
{{- with get $all (first $parts) -}}
{{- $_ := set $used $path (ternary .data (get .data (last $parts)) (eq (len $parts) 1)) -}}
{{- end -}}
{{- end -}}
{{- toJson $used | sha256sum -}}
{{- end -}}
