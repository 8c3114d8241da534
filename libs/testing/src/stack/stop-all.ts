import { type AppProcess, describeExit } from '@session-service/local-stack'

/**
 * Stops the groups of processes in order, then runs the steps in order, also after failures. Rejects with the name and
 * last output of each process that did not exit with code 0.
 */
export async function stopAll(
  groups: readonly (readonly AppProcess[])[],
  steps: readonly (() => Promise<void> | undefined)[],
): Promise<void> {
  const problems: string[] = []
  for (const group of groups) problems.push(...(await Promise.all(group.map(stopOne))).flat())
  for (const step of steps) {
    try {
      await step()
    } catch (error) {
      problems.push(String(error))
    }
  }
  if (problems.length > 0) throw new Error(problems.join('\n'))
}

async function stopOne(process: AppProcess): Promise<string[]> {
  // The test has killed the process, so a graceful shutdown is not expected.
  if (!process.running) return []
  await process.stop()
  const code = await process.exited
  if (code === 0) return []
  return [`${process.name} did not shut down gracefully (${describeExit(code)}):\n${process.lastLines.join('\n')}`]
}
