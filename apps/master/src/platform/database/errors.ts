import { QueryFailedError } from 'typeorm'

const sqlState = (error: unknown): string | undefined => {
  const driver: unknown = error instanceof QueryFailedError ? error.driverError : error
  if (typeof driver !== 'object' || driver === null || !('code' in driver)) return undefined
  return typeof driver.code === 'string' ? driver.code : undefined
}

/** Whether the error is about the values written (data or constraint), not about the state of the database. */
export const isDataFault = (error: unknown): boolean => /^2[23]/.test(sqlState(error) ?? '')
