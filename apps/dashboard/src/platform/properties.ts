import type { PropertyRow } from '@session-service/contract/dashboard'

const ORDER: readonly PropertyRow['source'][] = ['override', 'environment', 'default']

const matches = ({ name, meaning, value }: PropertyRow, text: string): boolean =>
  [name, meaning, value].some((part) => part.toLowerCase().includes(text))

/** The properties with the text and of the source, those that were changed first, else by name. */
export function selectProperties(
  properties: readonly PropertyRow[],
  search: string,
  source: string,
): readonly PropertyRow[] {
  const text = search.trim().toLowerCase()
  return properties
    .filter((property) => (source === '' || property.source === source) && matches(property, text))
    .toSorted((a, b) => ORDER.indexOf(a.source) - ORDER.indexOf(b.source) || a.name.localeCompare(b.name))
}
