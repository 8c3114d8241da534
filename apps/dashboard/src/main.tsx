import { render } from 'preact'
import { startTicking } from './data/clock.js'
import { followAddress } from './data/route.js'
import { App } from './shell/app.js'

const root = document.querySelector('#app')
if (!root) throw new Error('the page has no element #app')
followAddress()
startTicking()
render(<App />, root)
