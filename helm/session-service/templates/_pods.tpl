{{/* Probes on the ops port; the limits are those of the health endpoints: docs/operations.md. */}}
{{- define "session-service.probes" -}}
startupProbe:
  httpGet:
    path: /healthz
    port: ops
  periodSeconds: 2
  failureThreshold: {{ div (int .startupSeconds) 2 }}
livenessProbe:
  httpGet:
    path: /healthz
    port: ops
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 3
readinessProbe:
  httpGet:
    path: /readyz
    port: ops
  periodSeconds: 3
  timeoutSeconds: 2
  failureThreshold: 2
{{- end -}}

{{/* The machines that a pod may run on: nodeSelector, tolerations, affinity, priorityClassName */}}
{{- define "session-service.machines" -}}
{{- with .nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end -}}

{{/* The machines of masters, for pods that run beside them; affinity to other pods would keep these away from masters. */}}
{{- define "session-service.masterMachines" -}}
{{- $affinity := dict "affinity" (pick .Values.master.affinity "nodeAffinity") -}}
{{- include "session-service.machines" (merge $affinity (pick .Values.master "nodeSelector" "tolerations" "priorityClassName")) -}}
{{- end -}}

{{/* Scheduling of a pod: dict "root" $ "component" … "values" <nodeSelector, tolerations, affinity, …> */}}
{{- define "session-service.scheduling" -}}
{{- include "session-service.machines" .values }}
topologySpreadConstraints:
{{- if .values.topologySpreadConstraints }}
  {{- toYaml .values.topologySpreadConstraints | nindent 2 }}
{{- else }}
{{- range .topologies }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "session-service.selectorLabels" (dict "root" $.root "component" $.component) | nindent 8 }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "session-service.masterVolumes" -}}
{{- $full := include "session-service.fullname" . -}}
- name: tmp
  emptyDir: {}
{{- if .Values.recording.enabled }}
- name: recordings
  persistentVolumeClaim:
    claimName: {{ .Values.recording.volume.existingClaim | default (printf "%s-recordings" $full) }}
{{- end }}
{{- if .Values.callRecords.enabled }}
- name: call-records
  persistentVolumeClaim:
    claimName: {{ .Values.callRecords.volume.existingClaim | default (printf "%s-call-records" $full) }}
{{- end }}
{{- with .Values.master.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "session-service.masterVolumeMounts" -}}
- name: tmp
  mountPath: /tmp
{{- if .Values.recording.enabled }}
- name: recordings
  mountPath: /opt/service/recordings
{{- end }}
{{- if .Values.callRecords.enabled }}
- name: call-records
  mountPath: /opt/service/cdr
{{- end }}
{{- with .Values.master.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Volume of recordings in progress on a media node. */}}
{{- define "session-service.scratchVolume" -}}
{{- $full := include "session-service.fullname" . -}}
{{- $scratch := .Values.recording.scratch -}}
- name: recordings
{{- if not .Values.recording.enabled }}
  emptyDir: {}
{{- else if eq $scratch.type "shared" }}
  persistentVolumeClaim:
    claimName: {{ .Values.recording.volume.existingClaim | default (printf "%s-recordings" $full) }}
{{- else if eq $scratch.type "emptyDir" }}
  emptyDir:
    sizeLimit: {{ $scratch.size }}
{{- else }}
  ephemeral:
    volumeClaimTemplate:
      metadata:
        labels:
          {{- include "session-service.selectorLabels" (dict "root" . "component" "media-node") | nindent 10 }}
      spec:
        accessModes: [ReadWriteOnce]
        {{- with $scratch.storageClass }}
        storageClassName: {{ . }}
        {{- end }}
        resources:
          requests:
            storage: {{ $scratch.size }}
{{- end }}
{{- end -}}

{{/*
Ports on the machine; the scheduler puts pods with the same ones on different machines. In the pod network nothing needs
the ports of media by name.
*/}}
{{- define "session-service.mediaNode.ports" -}}
{{- $nodes := .root.Values.mediaNodes -}}
{{- $first := (include "session-service.mediaNodeProperties" . | fromJson).MEDIA_NODE_RTC_PORT | int -}}
{{/* The network of the machine needs no mapping: one protocol is enough for the scheduler. */}}
{{- $protocols := get (dict "hostPort" (list "UDP" "TCP") "hostNetwork" (list "UDP")) $nodes.exposure.mode | default list -}}
- name: ops
  containerPort: {{ int $nodes.opsPort }}
  {{- if eq $nodes.exposure.mode "hostNetwork" }}
  hostPort: {{ int $nodes.opsPort }}
  {{- end }}
{{- range $worker := until (int $nodes.workers) }}
{{- range $protocol := $protocols }}
- name: {{ lower $protocol }}-{{ $worker }}
  containerPort: {{ add $first $worker }}
  protocol: {{ $protocol }}
  hostPort: {{ add $first $worker }}
{{- end }}
{{- end }}
{{- end -}}

{{/*
helm 3 merges changed ports by their number alone, and would keep one protocol of two. Another name makes it replace the
container as a whole.
*/}}
{{- define "session-service.mediaNode.containerName" -}}
{{- $properties := include "session-service.mediaNodeProperties" . | fromJson -}}
{{- $ports := printf "-%d-%d" (int $properties.MEDIA_NODE_RTC_PORT) (int $properties.MEDIA_NODE_WORKERS) -}}
media-node{{ ternary $ports "" (eq .root.Values.mediaNodes.exposure.mode "hostPort") }}
{{- end -}}

{{/* The pod spec of all media nodes, in Deployments and in the PodTemplate: dict "root" $ "slot" <index> */}}
{{- define "session-service.mediaNode.podSpec" -}}
{{- $root := .root -}}
{{- $nodes := $root.Values.mediaNodes -}}
{{- with include "session-service.imagePullSecrets" $root }}
{{- . | trim }}
{{ end }}
serviceAccountName: default
automountServiceAccountToken: false
enableServiceLinks: false
terminationGracePeriodSeconds: {{ include "session-service.mediaNode.grace" $root }}
securityContext:
  {{- toYaml $root.Values.podSecurityContext | nindent 2 }}
{{- if eq $nodes.exposure.mode "hostNetwork" }}
hostNetwork: true
dnsPolicy: ClusterFirstWithHostNet
{{- end }}
{{ include "session-service.scheduling" (dict "root" $root "component" "media-node" "values" $nodes "topologies" (list "kubernetes.io/hostname" "topology.kubernetes.io/zone")) | trim }}
containers:
  - name: {{ include "session-service.mediaNode.containerName" . }}
    image: {{ include "session-service.image" (dict "root" $root "image" $nodes.image "suffix" (ternary "-full" "" (eq (include "session-service.mediaNode.variant" $root) "full"))) }}
    imagePullPolicy: {{ $nodes.image.pullPolicy }}
    command: [node, --enable-source-maps, /app/apps/media-node/dist/bundle/main.js]
    securityContext:
      {{- toYaml $root.Values.securityContext | nindent 6 }}
    env:
      {{- include "session-service.mediaNodeEnv" . | nindent 6 }}
    ports:
      {{- include "session-service.mediaNode.ports" . | nindent 6 }}
    {{- include "session-service.probes" (dict "startupSeconds" 60) | nindent 4 }}
    lifecycle:
      preStop:
        exec:
          # Starts the drain; SIGTERM follows at once and keeps it, and the node ends when it is empty.
          command:
            - node
            - --eval
            - >-
              const { SERVICE_OPS_HOST: host, SERVICE_OPS_PORT: port } = process.env;
              const local = !host || host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
              fetch(`http://${local.includes(':') ? `[${local}]` : local}:${port}/drain`,
              { method: 'POST', signal: AbortSignal.timeout(5000) }).catch((error) => console.error(error))
    resources:
      {{- toYaml $nodes.resources | nindent 6 }}
    volumeMounts:
      - name: tmp
        mountPath: /tmp
      - name: recordings
        mountPath: /opt/service/recordings
      - name: pod
        mountPath: /etc/session-service/pod
        readOnly: true
      {{- with $nodes.extraVolumeMounts }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
volumes:
  - name: tmp
    emptyDir: {}
  {{- include "session-service.scratchVolume" $root | nindent 2 }}
  - name: pod
    downwardAPI:
      items:
        - path: announced-address
          fieldRef:
            fieldPath: metadata.annotations['session-service/announced-address']
  {{- with $nodes.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

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

{{/* Host ports of the release's media nodes in the cluster, as JSON: of the ready ones, and of all, also of those that drain. */}}
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
{{- with .hostPort -}}
{{- $all = append $all (int .) -}}
{{- if $isReady -}}{{- $ready = append $ready (int .) -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- dict "ready" $ready "all" $all | toJson -}}
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

{{/* Labels and annotations of the pods of media nodes. */}}
{{- define "session-service.mediaNode.podMetadata" -}}
labels:
  {{- include "session-service.selectorLabels" (dict "root" .root "component" "media-node") | nindent 2 }}
  {{- with .slotName }}
  session-service/slot: {{ . | quote }}
  {{- end }}
  {{- with .root.Values.mediaNodes.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
annotations:
  checksum/secrets: {{ include "session-service.secretsChecksum" (dict "root" .root "keys" (list "nats/node" "nats/nodeUrl" "media-node")) }}
  {{- with include "session-service.text" .root.Values.mediaNodes.restartId }}
  session-service/restart-id: {{ . | quote }}
  {{- end }}
  {{- with .root.Values.mediaNodes.podAnnotations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}
