{{/*
The Deployment or PodTemplate of the media nodes in the cluster, as JSON; empty at an installation and without a cluster.
*/}}
{{- define "session-service.mediaNode.existing" -}}
{{- $name := printf "%s-media-node" (include "session-service.fullname" .) -}}
{{- $isDriver := eq .Values.mediaNodes.scaling.mode "driver" -}}
{{- lookup (ternary "v1" "apps/v1" $isDriver) (ternary "PodTemplate" "Deployment" $isDriver) .Release.Namespace $name | default dict | toJson -}}
{{- end -}}

{{/* Hash of the pods of media nodes, whatever their set of ports. */}}
{{- define "session-service.mediaNode.contentHash" -}}
{{- $context := dict "root" . -}}
{{- print (include "session-service.mediaNode.podMetadata" $context) (include "session-service.mediaNode.podSpec" $context) | sha256sum -}}
{{- end -}}

{{/*
Host ports for media of the release's media nodes in the cluster, as JSON: of the ready ones, and of all, also of those
that drain.
*/}}
{{- define "session-service.mediaNode.heldPorts" -}}
{{- $own := include "session-service.selectorLabels" (dict "root" . "component" "media-node") | fromYaml | toJson -}}
{{- $ready := list -}}
{{- $all := list -}}
{{- range (lookup "v1" "Pod" .Release.Namespace "").items -}}
{{- $labels := pick (.metadata.labels | default dict) "app.kubernetes.io/name" "app.kubernetes.io/instance" "app.kubernetes.io/component" -}}
{{- if and (eq (toJson $labels) $own) (not (has .status.phase (list "Succeeded" "Failed"))) -}}
{{- $isReady := false -}}
{{- range .status.conditions -}}
{{- if and (eq .type "Ready") (eq .status "True") -}}{{- $isReady = true -}}{{- end -}}
{{- end -}}
{{- $isReady = and $isReady (not .metadata.deletionTimestamp) -}}
{{- range .spec.containers -}}
{{- range .ports -}}
{{- if and .hostPort (ne .name "ops") -}}
{{- $all = append $all (int .hostPort) -}}
{{- if $isReady -}}{{- $ready = append $ready (int .hostPort) -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- dict "ready" $ready "all" $all | toJson -}}
{{- end -}}

{{/* Host ports for media that present media nodes hold and changed ones do not, as JSON: those that drain use them until their end. */}}
{{- define "session-service.mediaNode.formerPorts" -}}
{{- $first := int .Values.mediaNodes.rtcPort -}}
{{- $last := include "session-service.mediaNode.lastPort" . | int -}}
{{- $former := list -}}
{{- range (include "session-service.mediaNode.heldPorts" . | fromJson).all -}}
{{- if or (lt (int .) $first) (gt (int .) $last) -}}{{- $former = append $former (int .) -}}{{- end -}}
{{- end -}}
{{- $former | uniq | toJson -}}
{{- end -}}

{{/* "true" when a set contains one of the ports: dict "root" $ "set" <0 or 1> "ports" [<port>] */}}
{{- define "session-service.mediaNode.overlaps" -}}
{{- $workers := int .root.Values.mediaNodes.workers -}}
{{- $first := add (int .root.Values.mediaNodes.rtcPort) (mul $workers .set) | int -}}
{{- $isHeld := false -}}
{{- range .ports -}}
{{- if and (ge (int .) $first) (lt (int .) (add $first $workers | int)) -}}{{- $isHeld = true -}}{{- end -}}
{{- end -}}
{{- if $isHeld -}}true{{- end -}}
{{- end -}}

{{/*
The set of host ports, 0 or 1, and whether new pods start beside the former ones, as JSON. Changed pods have a set that no
ready pod holds: they start on the same machine while the former ones drain. Pods that never became ready give their ports
back first. Where ready pods hold both sets, or none is ready, former pods go first, or new ones would wait for ever.
*/}}
{{- define "session-service.mediaNode.placement" -}}
{{- $existing := include "session-service.mediaNode.existing" . | fromJson -}}
{{- $annotations := dig "metadata" "annotations" dict $existing -}}
{{- $set := get $annotations "session-service/port-set" | default "0" | int -}}
{{- $surges := false -}}
{{- if ne (include "session-service.mediaNode.portSets" .) "2" -}}
{{- $set = 0 -}}
{{- else if eq (get $annotations "session-service/content-hash") (include "session-service.mediaNode.contentHash" .) -}}
{{- $surges = ne (dig "spec" "strategy" "rollingUpdate" "maxSurge" 0 $existing | toString) "0" -}}
{{- else -}}
{{- $held := include "session-service.mediaNode.heldPorts" . | fromJson -}}
{{- $free := list -}}
{{- $unused := list -}}
{{- range ternary (list (sub 1 $set) $set) (list 0 1) (not (empty $annotations)) -}}
{{- if not (include "session-service.mediaNode.overlaps" (dict "root" $ "set" . "ports" $held.ready)) -}}
{{- $free = append $free . -}}
{{- end -}}
{{- if not (include "session-service.mediaNode.overlaps" (dict "root" $ "set" . "ports" $held.all)) -}}
{{- $unused = append $unused . -}}
{{- end -}}
{{- end -}}
{{- $surges = and (not (empty $annotations)) (not (empty $held.ready)) (not (empty $free)) -}}
{{- $set = concat $unused $free (list $set) | first -}}
{{- end -}}
{{- dict "set" $set "surges" $surges | toJson -}}
{{- end -}}

{{/* Annotations from which the next upgrade sees what is in the cluster: dict "root" $ "slot" <set of ports> */}}
{{- define "session-service.mediaNode.annotations" -}}
session-service/port-set: {{ .slot | quote }}
session-service/content-hash: {{ include "session-service.mediaNode.contentHash" .root }}
{{- end -}}
