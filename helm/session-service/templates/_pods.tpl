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

{{/* Whether one machine at a time can use the volume. `helm template` does not see an existing claim, and trusts the values. */}}
{{- define "session-service.volume.isSingle" -}}
{{- $modes := list .volume.accessMode -}}
{{- if .volume.existingClaim -}}
{{- $claim := lookup "v1" "PersistentVolumeClaim" .root.Release.Namespace .volume.existingClaim -}}
{{- $modes = ($claim.spec).accessModes | default $modes -}}
{{- end -}}
{{- if not (has "ReadWriteMany" $modes) -}}true{{- end -}}
{{- end -}}
