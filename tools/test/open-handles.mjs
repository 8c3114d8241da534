// Loaded into processes of tests: on SIGUSR2 it prints the open handles that keep the process from ending.
process.on('SIGUSR2', () => {
  const kinds = Object.entries(Object.groupBy(process.getActiveResourcesInfo(), (kind) => kind))
  console.error(`open: ${kinds.map(([kind, all]) => `${all.length} ${kind}`).join(', ') || 'nothing'}`)
  // Ports and pids identify a handle; resolving host names would only delay the report.
  process.report.excludeNetwork = true
  for (const { is_active: active, is_referenced: referenced, address: _, ...facts } of process.report.getReport().libuv)
    if (active && referenced) console.error(`  ${JSON.stringify(facts)}`)
})
