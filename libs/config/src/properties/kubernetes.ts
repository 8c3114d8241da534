import { property } from '../property/property.js'
import { baseUrl, path, text, textMatching } from '../property/types.js'

/** Where Kubernetes mounts the credentials of a pod's service account. */
const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount'

const name = textMatching(
  /^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?)?$/,
  'up to 253 lower-case letters, digits, "-" and ".", as names in Kubernetes',
)

/** Access to Kubernetes, for SERVICE_PRO_CLUSTER_ENVIRONMENT=kubernetes. */
export const KUBERNETES = {
  SERVICE_KUBERNETES_POD_TEMPLATE: property('master', name, {
    default: '',
    meaning:
      'Name of the PodTemplate from which masters make media nodes; empty: a Deployment starts them, and masters only annotate its pods',
  }),
  SERVICE_KUBERNETES_POD_SELECTOR: property('master', text, {
    default: 'app.kubernetes.io/name=session-service,app.kubernetes.io/component=media-node',
    meaning: 'Label selector of the pods of media nodes',
  }),
  SERVICE_KUBERNETES_NAMESPACE: property('master', name, {
    default: '',
    meaning: 'Namespace of the media nodes; empty: that of the service account',
  }),
  SERVICE_KUBERNETES_API: property('master', baseUrl('https', 'http'), {
    default: '',
    meaning: 'URL of the Kubernetes API; empty: by KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT of the pod',
  }),
  SERVICE_KUBERNETES_TOKEN_FILE: property('master', path, {
    default: `${SERVICE_ACCOUNT}/token`,
    meaning: 'File with the token for the Kubernetes API, read again when it changes',
  }),
  SERVICE_KUBERNETES_CA_FILE: property('master', path, {
    default: `${SERVICE_ACCOUNT}/ca.crt`,
    meaning: 'PEM file of the certificate authority of the Kubernetes API',
  }),
}
