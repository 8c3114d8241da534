import { describe, expect, it } from '@jest/globals'
import { type CommandPlace, localWords, programEnv, programWords } from './container-command.js'
import type { ImageProgram } from './images.js'
import { translatePaths } from './paths.js'

const place: CommandPlace = {
  podAddress: '127.70.32.1',
  namespace: 'calls',
  hostsFile: '/rig/hosts.json',
  mounts: [
    { path: '/opt/service', folder: '/v/service' },
    { path: '/opt/service/recordings', folder: '/v/recordings' },
    { path: '/app', folder: '/build' },
  ],
  apiServer: { host: '127.0.0.1', port: '6443' },
}
const program: ImageProgram = {
  entrypoint: ['/bin/program', '--main'],
  lastArguments: ['--last'],
  env: { PATH: '/bin' },
  folderVariables: { RECORDINGS: '/opt/service/recordings', ELSEWHERE: '/elsewhere' },
  listenProperties: ['LISTEN', 'OTHER', 'MEDIA'],
  hostPortProperties: ['MEDIA'],
  folders: [],
  stopSignal: 'SIGTERM',
}

describe('the paths of a container', () => {
  it.each([
    ['/opt/service/recordings/a.mp4', '/v/recordings/a.mp4'],
    ['/opt/service', '/v/service'],
    ['/opt/service-other', '/opt/service-other'],
    ['/srv/opt/service', '/srv/opt/service'],
    ['--file=/app/main.js', '--file=/build/main.js'],
    ['["/app","/app/b"]', '["/build","/build/b"]'],
    ['https://host/application', 'https://host/application'],
  ])('are translated: %s is %s', (text, expected) => {
    expect(translatePaths(text, place.mounts)).toBe(expected)
  })
})

describe('the program of a container', () => {
  it.each([
    ['that of the image', {}, ['/bin/program', '--main', '--last']],
    ['that of the image with the arguments', { args: ['$(A)'] }, ['/bin/program', '--main', 'one', '--last']],
    ['the command', { command: ['node', '/app/main.js'], args: ['x'] }, [process.execPath, '/build/main.js', 'x']],
    [
      'that of the image, which the command names',
      { command: ['nats-server', '-c'] },
      ['/bin/program', '--main', '-c', '--last'],
    ],
  ])('is %s', (_, container, expected) => {
    expect(programWords(program, { command: [], args: [], ...container }, new Map([['A', 'one']]), place)).toEqual(
      expected,
    )
  })

  it('listens on the address of the pod where it would listen on all, and keeps another address', () => {
    const env = programEnv(program, new Map([['OTHER', '10.0.0.1']]), place)
    expect(env).toMatchObject({ LISTEN: '127.70.32.1', OTHER: '10.0.0.1', RECORDINGS: '/v/recordings' })
    expect(env).not.toHaveProperty('ELSEWHERE')
  })

  it('listens on the address of the machine for ports of the machine', () => {
    expect(programEnv(program, new Map(), place)).toMatchObject({ MEDIA: '127.70.32.1' })
    const onHost = programEnv(program, new Map(), { ...place, hostPortAddress: '127.70.16.1' })
    expect(onHost).toMatchObject({ MEDIA: '127.70.16.1', LISTEN: '127.70.32.1' })
  })

  it('gets the files of its service account only where they are mounted', () => {
    expect(programEnv(program, new Map(), place)).not.toHaveProperty('SERVICE_KUBERNETES_TOKEN_FILE')
    const mount = { path: '/var/run/secrets/kubernetes.io/serviceaccount', folder: '/v/account' }
    expect(programEnv(program, new Map(), { ...place, mounts: [mount] })).toMatchObject({
      SERVICE_KUBERNETES_TOKEN_FILE: '/v/account/token',
      SERVICE_KUBERNETES_NAMESPACE: 'calls',
    })
  })

  it('reaches its own ports where a probe names localhost', () => {
    expect(localWords(['curl', 'http://127.0.0.1:4481/healthz', 'localhost'], place)).toEqual([
      'curl',
      'http://127.70.32.1:4481/healthz',
      'localhost',
    ])
  })
})
