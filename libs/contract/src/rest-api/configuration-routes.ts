import { z } from 'zod'
import { OverrideListView, RestartBody, RestartView } from '../rest/restart.js'
import { faults, gone, ok, PAID, PREFIX as P, type Route } from './route.js'

export const ConfigurationView = z.looseObject({ VERSION: z.string() })

const OVERRIDES = `${P}/config/overrides`
const DROP_FAULTS = faults({
  400: 'The configuration without it is not valid; the message names each property',
  404: PAID,
  409: 'Another restart is under way',
})

export const CONFIGURATION = {
  getConfiguration: {
    method: 'GET',
    path: `${P}/config`,
    tag: 'Service',
    summary: 'The configuration in force',
    answers: ok('The configuration', ConfigurationView),
  },
  restart: {
    method: 'POST',
    path: `${P}/restart`,
    tag: 'Service',
    summary: 'Restart with changed configuration',
    body: RestartBody,
    answers: { ...ok('Restarting', RestartView), ...faults({ 404: PAID, 409: 'Another restart is under way' }) },
  },
  listConfigurationOverrides: {
    method: 'GET',
    path: OVERRIDES,
    tag: 'Service',
    summary: 'List the properties that restarts have changed',
    answers: { ...ok('Their names and values', OverrideListView), ...faults({ 404: PAID }) },
  },
  dropConfigurationOverrides: {
    method: 'DELETE',
    path: OVERRIDES,
    tag: 'Service',
    summary: 'Drop all overrides and restart with the configuration of the environment',
    answers: { ...gone('Restarting; without an override nothing happens'), ...DROP_FAULTS },
  },
  dropConfigurationOverride: {
    method: 'DELETE',
    path: `${OVERRIDES}/{property}`,
    tag: 'Service',
    summary: "Drop one override and restart with the environment's value",
    answers: { ...gone('Restarting'), ...DROP_FAULTS, ...faults({ 404: `No override of this property; or: ${PAID}` }) },
  },
} as const satisfies Record<string, Route>
