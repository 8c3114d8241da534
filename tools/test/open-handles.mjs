// Loaded into jest's process: on SIGUSR2 it says what keeps the process from ending.
process.on('SIGUSR2', () => {
  const kinds = Object.entries(Object.groupBy(process.getActiveResourcesInfo(), (kind) => kind))
  console.error(`open: ${kinds.map(([kind, all]) => `${all.length} ${kind}`).join(', ') || 'nothing'}`)
  // Whoever ran the tests needs the ports and pids, not the names of the hosts.
  process.report.excludeNetwork = true
  for (const { is_active: active, is_referenced: referenced, address: _, ...facts } of process.report.getReport().libuv)
    if (active && referenced) console.error(`  ${JSON.stringify(facts)}`)
})
