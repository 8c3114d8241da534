import { type AppProcess, describeExit } from '@session-service/local-stack'

/**
 * Ends the processes, one group after the other, then runs the steps one after the other, all of them whatever fails.
 * Rejects naming each process that ran and did not end with code 0, with its last words.
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
  // One that the test killed has no duty to end in order.
  if (!process.running) return []
  await process.stop()
  const code = await process.exited
  if (code === 0) return []
  return [`${process.name} did not end in order (${describeExit(code)}):\n${process.lastLines.join('\n')}`]
}
