import type { Benchmark } from './benchmark/benchmark.js'
import { readArguments } from './cli.js'
import { report } from './benchmark/report.js'
import { autoscaling } from './autoscaling/autoscaling.js'
import { forwarding } from './forwarding/forwarding.js'
import { join } from './join/join.js'
import { largeSession } from './large-session/large-session.js'
import { placement } from './placement/placement.js'
import { recordedSession } from './recorded-session/recorded-session.js'
import { recording } from './recording/recording.js'
import { rest } from './rest/rest.js'
import { scale } from './scale/scale.js'

const BENCHMARKS: Record<string, Benchmark> = {
  forwarding,
  join,
  rest,
  scale,
  autoscaling,
  placement,
  'large-session': largeSession,
  recording,
  'recorded-session': recordedSession,
}

/** No benchmark but a check, whose findings are looked at: only when asked for. */
const ONLY_BY_NAME = new Set(['recorded-session'])

const USAGE = `npm run bench [-- forwarding|join|rest|scale|autoscaling|placement|large-session|recording|recorded-session …] [--quick]

${Object.entries(BENCHMARKS)
  .map(([name, { title }]) => `  ${name.padEnd(17)}${title}`)
  .join('\n')}

  --quick        about a minute each instead of about four
`

async function main(): Promise<void> {
  const { benchmarks, quick, help } = readArguments(process.argv.slice(2), Object.keys(BENCHMARKS), ONLY_BY_NAME)
  if (help) return console.log(USAGE)
  if (process.platform !== 'linux') throw new Error('the benchmarks read CPU time from /proc, which only Linux has')
  for (const name of benchmarks) {
    const benchmark = BENCHMARKS[name]
    if (!benchmark) continue
    const tell = (line: string): void => console.error(`${name}: ${line}`)
    console.log(report(name, benchmark.title, await benchmark.run({ quick, tell })))
  }
}

try {
  await main()
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
