import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { ControlPlane } from '../control-plane/control-plane.js'
import { claim, persistentVolume, type Claim } from '../control-plane/objects.js'

const PROVISIONER = 'rig/folders'
const STORAGE_CLASS = 'rig'

/** Makes a folder and a volume for each claim of the default storage class, and removes both with the claim. */
export class Provisioner {
  readonly #stopped = new AbortController()
  readonly #plane: ControlPlane
  readonly #made = new Set<string>()
  readonly #working: Promise<void>[]

  private constructor(plane: ControlPlane) {
    this.#plane = plane
    const { signal } = this.#stopped
    this.#working = [
      plane.api.follow(
        claim,
        '/api/v1/persistentvolumeclaims',
        { changed: (each) => void this.#provide(each) },
        signal,
      ),
      plane.api.follow(
        persistentVolume,
        '/api/v1/persistentvolumes',
        {
          changed: ({ metadata, status, spec }) => {
            if (status.phase === 'Released') void this.#remove(metadata.name, spec.hostPath?.path)
          },
        },
        signal,
      ),
    ]
  }

  static async start(plane: ControlPlane): Promise<Provisioner> {
    await plane.api.create('/apis/storage.k8s.io/v1/storageclasses', {
      metadata: { name: STORAGE_CLASS, annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
      provisioner: PROVISIONER,
      reclaimPolicy: 'Delete',
      volumeBindingMode: 'Immediate',
    })
    return new Provisioner(plane)
  }

  async stop(): Promise<void> {
    this.#stopped.abort()
    await Promise.all(this.#working)
  }

  async #provide({ metadata, spec }: Claim): Promise<void> {
    const { name, namespace, uid } = metadata
    if (spec.storageClassName !== STORAGE_CLASS || spec.volumeName !== '' || this.#made.has(uid)) return
    this.#made.add(uid)
    const folder = join(this.#plane.folder, 'claims', uid)
    mkdirSync(folder, { recursive: true })
    await this.#plane.api
      .create('/api/v1/persistentvolumes', {
        metadata: { name: `pv-${uid}`, annotations: { 'pv.kubernetes.io/provisioned-by': PROVISIONER } },
        spec: {
          capacity: { storage: spec.resources.requests.storage ?? '1Gi' },
          accessModes: spec.accessModes,
          persistentVolumeReclaimPolicy: 'Delete',
          storageClassName: STORAGE_CLASS,
          claimRef: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', name, namespace, uid },
          hostPath: { path: folder },
        },
      })
      .catch(() => this.#made.delete(uid))
  }

  async #remove(name: string, folder: string | undefined): Promise<void> {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
    await this.#plane.api.delete(`/api/v1/persistentvolumes/${name}`).catch(() => {})
  }
}
