{{/* What a schema cannot express: relations of numbers. Everything else is in values.schema.json. */}}
{{- define "session-service.validate" -}}
{{- $nodes := .Values.mediaNodes -}}
{{- $grace := include "session-service.mediaNode.grace" . | int -}}
{{- $least := add (include "session-service.mediaNode.longestDrain" . | int) 30 | int -}}
{{- if le $grace $least -}}
{{- fail (printf "mediaNodes.terminationGracePeriodSeconds: must be more than %d (drainTimeout, recording.finishTimeout and 30), not %d: a node would be killed before its drain has ended" $least $grace) -}}
{{- end -}}
{{- $least = add (int .Values.master.shutdownDelay) 30 | int -}}
{{- if le (int .Values.master.terminationGracePeriodSeconds) $least -}}
{{- fail (printf "master.terminationGracePeriodSeconds: must be more than %d (shutdownDelay and 30), not %d" $least (int .Values.master.terminationGracePeriodSeconds)) -}}
{{- end -}}
{{- if gt (int $nodes.scaling.min) (int $nodes.scaling.max) -}}
{{- fail (printf "mediaNodes.scaling.min: must not be more than scaling.max (%d), not %d" (int $nodes.scaling.max) (int $nodes.scaling.min)) -}}
{{- end -}}
{{- $slots := include "session-service.mediaNode.portSets" . | int -}}
{{- $last := include "session-service.mediaNode.lastPort" . | int -}}
{{- $limit := ternary 32767 65535 (eq $nodes.exposure.mode "nodePort") -}}
{{- if gt $last $limit -}}
{{- fail (printf "mediaNodes.rtcPort: the ports of %d workers would end at %d, which is more than %d" (mul (int $nodes.workers) $slots) $last $limit) -}}
{{- end -}}
{{- if and (ge (int $nodes.opsPort) (int $nodes.rtcPort)) (le (int $nodes.opsPort) $last) -}}
{{- fail (printf "mediaNodes.opsPort: %d is one of the ports of media (%d to %d)" (int $nodes.opsPort) (int $nodes.rtcPort) $last) -}}
{{- end -}}
{{- if gt (int .Values.turn.minPort) (int .Values.turn.maxPort) -}}
{{- fail "turn.minPort: must not be more than turn.maxPort" -}}
{{- end -}}
{{- end -}}
