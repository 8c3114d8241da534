import { type EntityManager, getMetadataArgsStorage } from 'typeorm'

/** A data source, a transaction's entity manager or a query runner's one. */
export type Queryable = Pick<EntityManager, 'query'>

type Counted<Row> = [rows: Row[], count: number]

/** TypeORM answers an UPDATE or a DELETE with the rows and their number, any other statement with the rows alone. */
const isCounted = <Row extends object>(answer: Row[] | Counted<Row>): answer is Counted<Row> =>
  answer.length === 2 && typeof answer[1] === 'number'

/** Rows of a single hand-written statement. `Row` is declared beside the statement and names its columns. */
export async function rows<Row extends object>(
  queryable: Queryable,
  sql: string,
  values: readonly unknown[] = [],
): Promise<Row[]> {
  const answer = await queryable.query<Row[] | Counted<Row>>(sql, [...values])
  return isCounted(answer) ? answer[0] : answer
}

/** The first row of a hand-written statement, for statements that give one at most. */
export async function firstRow<Row extends object>(
  queryable: Queryable,
  sql: string,
  values: readonly unknown[] = [],
): Promise<Row | undefined> {
  const [row] = await rows<Row>(queryable, sql, values)
  return row
}

/** Runs a single hand-written statement. Gives the number of rows that an UPDATE or DELETE changed, else 0. */
export async function execute(queryable: Queryable, sql: string, values: readonly unknown[] = []): Promise<number> {
  const answer = await queryable.query<object[] | Counted<object>>(sql, [...values])
  return isCounted(answer) ? answer[1] : 0
}

/**
 * A select list of columns of an entity, each under the name of its property, so that a row of it is a
 * `Pick<Entity, …>`. For hand-written statements; a name that is no column fails at start.
 */
export function columns<Entity extends object>(
  entity: new () => Entity,
  alias: string,
  names: readonly (keyof Entity & string)[],
): string {
  const declared = getMetadataArgsStorage().filterColumns(entity)
  return names
    .map((name) => {
      const column = declared.find(({ propertyName }) => propertyName === name)
      if (!column) throw new Error(`${entity.name} has no column ${name}`)
      const stored = column.options.name ?? name
      return stored === name ? `${alias}.${stored}` : `${alias}.${stored} AS "${name}"`
    })
    .join(', ')
}
