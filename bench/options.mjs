// Command line of "npm run bench". Plain JavaScript for Node 20, because the bootstrap checks it before anything is
// built, and prepares only what the named benchmarks need.

/** Title of each benchmark, and what it needs beside Node, the npm packages and the build. */
export const BENCHMARKS = {
  forwarding: {
    title: 'Forwarding: CPU of a media node under our control plane, against bare mediasoup with the same routing',
    needs: ['worker', 'nats', 'postgres'],
  },
  join: {
    title: 'Join: from opening the socket to the first decoded picture in Chromium, against bare mediasoup-client',
    needs: ['worker', 'nats', 'postgres', 'chromium'],
  },
  rest: {
    title: 'REST: the calls about a session and its connection, against the same stack answering a constant',
    needs: ['nats', 'postgres'],
  },
  scale: {
    title: 'Scale: calls with 10000 and 50000 live sessions, against the same with 100',
    needs: ['nats', 'postgres'],
  },
  lists: {
    title: 'Lists: creating a session while 150 clients request the list of 5,000 sessions, against while none does',
    needs: ['nats', 'postgres'],
  },
  crowd: {
    title: 'Crowd: 240 people join a session, send a signal and leave, all at once, against one after another',
    needs: ['worker', 'nats', 'postgres'],
  },
  autoscaling: { title: 'Autoscaling: node-hours over a day, against the lower bound', needs: [] },
  placement: {
    title: 'Placement: most loaded node over the mean, against an oracle that knows all committed load at once',
    needs: [],
  },
  'large-session': {
    title: 'Large session: 200 people, 2 of them publishing, on two workers joined by pipes, against one worker',
    needs: ['worker', 'nats', 'postgres'],
  },
  recording: {
    title: 'Recording: four people as one picture, against a browser whose screen is grabbed, and stream by stream',
    needs: ['worker', 'nats', 'postgres', 'chromium', 'recording', 'screen'],
  },
  cameras: {
    title: 'Cameras: CPU of cameras on the network and time to their first picture, against ffmpeg',
    needs: ['worker', 'nats', 'postgres', 'cameras'],
  },
  v2: {
    title: 'Version 2: a meeting of 30 clients of version 2, of whom 4 publish, against the same of native clients',
    needs: ['worker', 'nats', 'postgres'],
  },
  'speech-to-text': {
    title: 'Speech to text: streams per core in a meeting of eight, against one recognizer for each stream',
    needs: ['speech'],
  },
  monitoring: {
    title: 'Monitoring: a session of 50 with statistics, network quality, history and traces, against without',
    needs: ['worker', 'nats', 'postgres'],
  },
  failover: {
    title: 'Failover: from the kill of a media node, a worker or a master until a tab has media and signalling again',
    needs: ['worker', 'nats', 'postgres', 'chromium'],
  },
  idle: {
    title: 'Idle: CPU, wake-ups and memory of a master, a media node, Postgres and NATS without a session',
    needs: ['worker', 'nats', 'postgres'],
  },
  'recorded-session': {
    title: 'Recorded session: three browsers; one comes late, one mutes, one shares a screen, one leaves',
    needs: ['worker', 'nats', 'postgres', 'chromium', 'recording'],
    onlyByName: true,
  },
  'watched-cameras': {
    title: 'Watched cameras: two browsers show cameras of each kind for a minute, and whether sound and picture agree',
    needs: ['worker', 'nats', 'postgres', 'chromium', 'cameras'],
    onlyByName: true,
  },
  'false-losses': {
    title:
      'False losses: an hour of load, paused media nodes and bus restarts, in which no node may be considered lost',
    needs: ['worker', 'nats', 'postgres'],
    onlyByName: true,
  },
}

const NAMES = Object.keys(BENCHMARKS)

export const HELP = `Usage: npm run bench [-- [options] [name …]]

${NAMES.map((name) => `  ${name.padEnd(17)}${BENCHMARKS[name].title}`).join('\n')}

Without a name all benchmarks run, except recorded-session, watched-cameras and false-losses, which are checks.

  --quick          about a minute each instead of about four
  --help           show this help
`

export class OptionError extends Error {
  name = 'OptionError'
}

/** `{ benchmarks, quick, help, needs }`; throws OptionError. */
export function parseOptions(args) {
  const named = []
  const flags = { quick: false, help: false }
  for (const arg of args) {
    if (arg === '--quick') flags.quick = true
    else if (arg === '--help' || arg === '-h') flags.help = true
    else if (NAMES.includes(arg)) named.push(arg)
    else throw new OptionError(`unknown argument ${arg}: there are ${NAMES.join(', ')}, --quick, --help`)
  }
  const benchmarks = named.length > 0 ? named : NAMES.filter((name) => !BENCHMARKS[name].onlyByName)
  return { benchmarks, ...flags, needs: [...new Set(benchmarks.flatMap((name) => BENCHMARKS[name].needs))] }
}
