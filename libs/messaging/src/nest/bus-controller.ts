import { applyDecorators, Catch, Controller, UseFilters, type ExceptionFilter } from '@nestjs/common'
import { throwError, type Observable } from 'rxjs'

/** Lets errors reach the bus as they are: the framework's own filter would lose their codes. */
@Catch()
export class BusErrorFilter implements ExceptionFilter {
  catch(error: unknown): Observable<never> {
    return throwError(() => error)
  }
}

/** A controller whose `@MessagePattern` and `@EventPattern` methods are called from the bus. */
export const BusController = (): ClassDecorator => applyDecorators(Controller(), UseFilters(BusErrorFilter))
