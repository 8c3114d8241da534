import { BareSfu } from '@session-service/synthetic-participant'
import { serveHelper } from '../helper/serve.js'
import { BARE_SERVER } from './api.js'

serveHelper(BARE_SERVER, {
  start: async ({ initialOutgoingBitrate }) => {
    const sfu = await BareSfu.start({ initialOutgoingBitrate })
    return { token: sfu.token() }
  },
})
