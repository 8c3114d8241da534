import { chmodSync, copyFileSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { unpackPackage } from '../bootstrap/apt.mjs'
import { publish, startLog } from '../bootstrap/cache.mjs'
import { isExecutable, run, which } from '../bootstrap/exec.mjs'
import { oneAtATime } from '../bootstrap/lock.mjs'
import { Stop } from '../bootstrap/stop.mjs'
import { HELM, KUBECONFORM, KUBERNETES, programsFolder } from './programs.mjs'

const GO = '1.25'
/** Minutes on two cores with an empty build cache. */
const MINUTES = {
  etcd: 0.2,
  helm: 5,
  kubeconform: 1,
  'kube-apiserver': 15,
  'kube-controller-manager': 6,
  'kube-scheduler': 3,
}

/** "etcd, helm: about 6 minutes" */
export function estimate(names) {
  const minutes = names.reduce((sum, name) => sum + MINUTES[name], 0)
  return `${names.join(', ')}: about ${Math.max(1, Math.ceil(minutes))} minutes on two cores`
}

/** Builds the missing programs from Go modules, and takes etcd from its Debian package. Complete ones are kept. */
export async function buildPrograms(context, missing) {
  const folder = programsFolder(context.env)
  mkdirSync(folder, { recursive: true })
  context.report.note(estimate(missing))
  for (const name of Object.keys(MINUTES).filter((each) => missing.includes(each)))
    await context.report.step(name, async (say) => {
      const program = join(folder, name)
      await oneAtATime(context, program, say, () =>
        isExecutable(program) ? undefined : make(context, name, program, say),
      )
      return { note: program }
    })
}

async function make(context, name, program, say) {
  const key = `kubernetes-build-${name}-${process.pid}`
  const built = await publish(context.cache, key, async (draft) => {
    if (name === 'etcd') await unpackEtcd(context, draft, say)
    else await buildGo(context, name, draft, say)
  })
  copyFileSync(join(built, 'bin', name), `${program}.new`)
  rmSync(built, { recursive: true, force: true })
  chmodSync(`${program}.new`, 0o755)
  renameSync(`${program}.new`, program)
}

async function unpackEtcd(context, draft, say) {
  if (!which('apt-get', context.env)) throw new Stop('etcd is missing: install etcd 3.4 or newer, then try again.')
  await unpackPackage(context, 'etcd-server', draft, say)
  mkdirSync(join(draft, 'bin'), { recursive: true })
  copyFileSync(join(draft, 'usr/bin/etcd'), join(draft, 'bin/etcd'))
}

async function buildGo(context, name, draft, say) {
  const go = which('go', context.env)
  if (!go) throw new Stop(`Go ${GO} or newer is needed to build ${name}: install it, then try again.`)
  const log = startLog(context.cache, name)
  const env = { ...context.env, GOBIN: join(draft, 'bin'), GOFLAGS: '-modcacherw' }
  const call = async (args, cwd) => {
    const { code, output } = await run(go, args, {
      cwd,
      env,
      log,
      signal: context.signal,
      onLine: (line) => say(progress(line)),
    })
    if (code !== 0) throw new Stop(`${name} cannot be built: "go ${args.join(' ')}" failed.`, { log })
    return output
  }
  say('compiling, which takes minutes')
  if (name === 'helm') await call(['install', `helm.sh/helm/v3/cmd/helm@v${HELM}`], draft)
  else if (name === 'kubeconform')
    await call(['install', `github.com/yannh/kubeconform/cmd/kubeconform@v${KUBECONFORM}`], draft)
  else await buildKubernetes(name, draft, call)
}

const progress = (line) =>
  line.startsWith('go: downloading') ? line.slice('go: '.length) : 'compiling, which takes minutes'

/** Its go.mod points at sibling folders that its module does not carry: the same modules as published stand in. */
async function buildKubernetes(name, draft, call) {
  writeFileSync(join(draft, 'go.mod'), 'module rig\ngo 1.24\n')
  const { Dir: source } = JSON.parse(
    await call(['mod', 'download', '-json', `k8s.io/kubernetes@v${KUBERNETES}`], draft),
  )
  copyFileSync(join(source, 'go.sum'), join(draft, 'go.sum'))
  writeFileSync(join(draft, 'go.mod'), moduleFile(readFileSync(join(source, 'go.mod'), 'utf8')))
  const imports = `import _ "k8s.io/kubernetes/cmd/${name}"`
  writeFileSync(join(draft, 'tools.go'), `//go:build tools\n\npackage tools\n\n${imports}\n`)
  const stamp = ['k8s.io/component-base/version', 'k8s.io/client-go/pkg/version'].map(
    (path) => `-X ${path}.gitVersion=v${KUBERNETES}`,
  )
  const program = join(draft, 'bin', name)
  mkdirSync(dirname(program), { recursive: true })
  await call(
    ['build', '-mod=mod', `-ldflags=-s -w ${stamp.join(' ')}`, '-o', program, `k8s.io/kubernetes/cmd/${name}`],
    draft,
  )
}

/** The module that builds Kubernetes, from the go.mod of Kubernetes. */
export function moduleFile(source) {
  const staging = `v0.${KUBERNETES.slice(KUBERNETES.indexOf('.') + 1)}`
  const settings = source.split('\n').filter((line) => /^(go|toolchain|godebug) /.test(line))
  const required = [...source.matchAll(/^require \([\s\S]*?^\)/gm)].map(([block]) =>
    block.replaceAll(/^(\s*k8s\.io\/[a-z0-9-]+) v0\.0\.0(?=\s|$)/gm, `$1 ${staging}`),
  )
  const replaced = [...source.matchAll(/(k8s\.io\/[a-z0-9-]+) => \.\/staging/g)].map(
    ([, name]) => `replace ${name} => ${name} ${staging}`,
  )
  return ['module rig', ...settings, ...required, `require k8s.io/kubernetes v${KUBERNETES}`, ...replaced, ''].join(
    '\n',
  )
}
