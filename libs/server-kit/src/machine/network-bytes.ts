/** Bytes that the interfaces of a machine have received and sent since its start. */
export interface NetworkBytes {
  received: number
  sent: number
}

/** Loopback, and the interfaces between containers and their host: their traffic crosses another interface as well. */
const INTERNAL = /^(lo|docker\d|br-|virbr|veth|cni|flannel|cali|cilium|lxc|tunl|kube-)/

/** From the content of `/proc/net/dev`. */
export function networkBytes(table: string): NetworkBytes {
  const total = { received: 0, sent: 0 }
  for (const line of table.split('\n')) {
    const [, name, values] = /^\s*([^\s:]+):\s*(\d[\d\s]*)$/.exec(line) ?? []
    if (name === undefined || values === undefined || INTERNAL.test(name)) continue
    const columns = values.trim().split(/\s+/)
    total.received += Number(columns[0] ?? 0)
    total.sent += Number(columns[8] ?? 0)
  }
  return total
}
