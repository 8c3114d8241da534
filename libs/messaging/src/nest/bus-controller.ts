import { applyDecorators, Catch, Controller, UseFilters, type ExceptionFilter } from '@nestjs/common'
import { throwError, type Observable } from 'rxjs'

/** Passes errors to the bus unchanged: Nest's own filter would drop their codes. */
@Catch()
export class BusErrorFilter implements ExceptionFilter {
  catch(error: unknown): Observable<never> {
    return throwError(() => error)
  }
}

/** Marks a controller whose `@MessagePattern` and `@EventPattern` methods handle messages of the bus. */
export const BusController = (): ClassDecorator => applyDecorators(Controller(), UseFilters(BusErrorFilter))
