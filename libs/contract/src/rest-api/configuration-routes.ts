import { z } from 'zod'
import { OverrideListView, RestartBody, RestartView } from '../rest/restart.js'
import { faults, gone, ok, PAID, PREFIX as P, type Route } from './route.js'

export const ConfigurationView = z.looseObject({ VERSION: z.string() })

const OVERRIDES = `${P}/config/overrides`
const DROP_FAULTS = faults({
  400: 'The configuration without it is not valid; the message names each property',
  404: PAID,
  409: 'Another restart is in progress',
})

export const CONFIGURATION = {
  getConfiguration: {
    method: 'GET',
    path: `${P}/config`,
    tag: 'Service',
    summary: 'Retrieve the active configuration',
    answers: ok('The configuration', ConfigurationView),
  },
  restart: {
    method: 'POST',
    path: `${P}/restart`,
    tag: 'Service',
    summary: 'Restart with changed configuration',
    body: RestartBody,
    answers: { ...ok('Restarting', RestartView), ...faults({ 404: PAID, 409: 'Another restart is in progress' }) },
  },
  listConfigurationOverrides: {
    method: 'GET',
    path: OVERRIDES,
    tag: 'Service',
    summary: 'List overrides',
    answers: { ...ok('Names and values of the overrides', OverrideListView), ...faults({ 404: PAID }) },
  },
  dropConfigurationOverrides: {
    method: 'DELETE',
    path: OVERRIDES,
    tag: 'Service',
    summary: 'Delete all overrides and restart',
    answers: { ...gone('Restarting; without an override nothing happens'), ...DROP_FAULTS },
  },
  dropConfigurationOverride: {
    method: 'DELETE',
    path: `${OVERRIDES}/{property}`,
    tag: 'Service',
    summary: 'Delete one override and restart',
    answers: { ...gone('Restarting'), ...DROP_FAULTS, ...faults({ 404: `No override of this property; or: ${PAID}` }) },
  },
} as const satisfies Record<string, Route>
