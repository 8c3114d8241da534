import type { StatisticsIntervals } from '@session-service/contract'
import { Injectable } from '@nestjs/common'

/** The intervals of the statistics that the masters want now: no statistics until a master has answered. */
@Injectable()
export class StatisticsSettings {
  intervals: StatisticsIntervals = { media: 0, machine: 0 }
}
