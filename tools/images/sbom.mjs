// Software bill of materials of an image, in CycloneDX 1.6. The build stage writes the part about packages of npm and
// programs; the last step of an image adds the packages of Debian: node sbom.mjs <part.json> <sbom.json>
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

/** The fields of `dpkg-query`, separated by tabs. */
export const DPKG_FORMAT = '${Package}\t${Version}\t${Architecture}\t${db:Status-Status}\n'

const licensesOf = (license) => {
  if (typeof license !== 'string') return {}
  const isExpression = / (AND|OR|WITH) /.test(license)
  if (isExpression) return { licenses: [{ expression: license }] }
  return { licenses: [{ license: /^[A-Za-z0-9.+-]+$/.test(license) ? { id: license } : { name: license } }] }
}

/** `sha512-<base64>` of a lockfile. */
const hashesOf = (integrity = '') => {
  const base64 = /^sha512-(\S+)/.exec(integrity)?.[1]
  return base64 ? { hashes: [{ alg: 'SHA-512', content: Buffer.from(base64, 'base64').toString('hex') }] } : {}
}

export function npmComponent({ name, version, license, integrity }) {
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`
  return {
    type: 'library',
    'bom-ref': purl,
    name,
    version,
    ...licensesOf(license),
    purl,
    ...hashesOf(integrity),
  }
}

/** The installed packages in the output of dpkg-query. */
export const debianComponents = (output, release) =>
  output
    .split('\n')
    .map((line) => line.split('\t'))
    .filter(([, , , status]) => status === 'installed')
    .map(([name, version, architecture]) => {
      const words = `arch=${architecture}${release ? `&distro=debian-${release}` : ''}`
      const purl = `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?${words}`
      return { type: 'library', 'bom-ref': purl, name, version, purl }
    })

/** Without a time and a serial number: the same content gives the same file. */
export const bom = ({ name, version, components }) => ({
  bomFormat: 'CycloneDX',
  specVersion: '1.6',
  version: 1,
  metadata: { component: { type: 'container', 'bom-ref': `${name}@${version}`, name, version } },
  components: components.toSorted((a, b) => (a['bom-ref'] < b['bom-ref'] ? -1 : 1)),
})

function addDebian(part) {
  const output = execFileSync('dpkg-query', ['-W', '-f', DPKG_FORMAT], { encoding: 'utf8', maxBuffer: 2 ** 26 })
  const release = /^VERSION_ID="?([^"\n]+)/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1]
  const { name, version } = part.metadata.component
  return bom({ name, version, components: [...part.components, ...debianComponents(output, release)] })
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [from, to] = process.argv.slice(2)
  const whole = addDebian(JSON.parse(readFileSync(from, 'utf8')))
  // The programs of Node's own distribution are part of its base image.
  whole.components.push({ type: 'application', 'bom-ref': 'node', name: 'node', version: process.versions.node })
  writeFileSync(to, `${JSON.stringify(whole, null, 1)}\n`)
}
