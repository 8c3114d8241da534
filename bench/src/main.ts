import { BENCHMARKS, type BenchmarkName, HELP, parseOptions } from '../options.mjs'
import type { Benchmark } from './benchmark/benchmark.js'
import { report } from './benchmark/report.js'
import { cameras } from './cameras/cameras.js'
import { autoscaling } from './autoscaling/autoscaling.js'
import { crowd } from './crowd/crowd.js'
import { failover } from './failover/failover.js'
import { falseLosses } from './false-losses/false-losses.js'
import { forwarding } from './forwarding/forwarding.js'
import { idle } from './idle/idle.js'
import { join } from './join/join.js'
import { lists } from './lists/lists.js'
import { largeSession } from './large-session/large-session.js'
import { monitoring } from './monitoring/monitoring.js'
import { placement } from './placement/placement.js'
import { recordedSession } from './recorded-session/recorded-session.js'
import { recording } from './recording/recording.js'
import { rest } from './rest/rest.js'
import { scale } from './scale/scale.js'
import { speechToText } from './speech-to-text/speech-to-text.js'
import { v2 } from './v2/v2.js'
import { watchedCameras } from './watched-cameras/watched-cameras.js'

const RUNS: Readonly<Record<BenchmarkName, Benchmark>> = {
  forwarding,
  join,
  rest,
  scale,
  lists,
  crowd,
  autoscaling,
  placement,
  'large-session': largeSession,
  recording,
  cameras,
  v2,
  'speech-to-text': speechToText,
  monitoring,
  failover,
  idle,
  'recorded-session': recordedSession,
  'watched-cameras': watchedCameras,
  'false-losses': falseLosses,
}

async function main(): Promise<void> {
  const { benchmarks, quick, help } = parseOptions(process.argv.slice(2))
  if (help) return console.log(HELP)
  if (process.platform !== 'linux') throw new Error('the benchmarks read CPU time from /proc and run on Linux only')
  for (const name of benchmarks) {
    const log = (line: string): void => console.error(`${name}: ${line}`)
    console.log(report(name, BENCHMARKS[name].title, await RUNS[name].run({ quick, log })))
  }
}

try {
  await main()
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
