import type axe from 'axe-core'
import type { Page } from 'playwright-core'

interface AxeWindow {
  axe?: typeof axe
}

/** The violations that axe finds, each with the elements; `rules` limits it to these. */
export async function violationsOf(page: Page, rules?: string[]): Promise<string[]> {
  // Evaluated by the debugger: the policy of the page forbids scripts of others.
  const isLoaded = await page.evaluate(() => (window as AxeWindow).axe !== undefined)
  if (!isLoaded) await page.evaluate((await import('axe-core')).default.source)
  // Colours change in a transition, also with reduced motion.
  await page.waitForFunction(() =>
    document.getAnimations().every((one) => !(one instanceof CSSTransition) || one.playState !== 'running'),
  )
  const { violations } = await page.evaluate(
    (only) => (window as AxeWindow as Required<AxeWindow>).axe.run(only ? { runOnly: only } : {}),
    rules,
  )
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(' | ')}`)
}
