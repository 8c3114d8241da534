/** Rejects TypeScript's `private`, except on constructors, where the language has no `#` form. */
const message = "Use a #member: TypeScript's private is not enforced at run time."

const check = (context) => (node) => {
  if (node.accessibility === 'private' && node.kind !== 'constructor') context.report({ node, message })
}

const hash = {
  meta: { type: 'suggestion', docs: { description: 'private members are #members' } },
  create: (context) => ({
    MethodDefinition: check(context),
    PropertyDefinition: check(context),
    TSParameterProperty: check(context),
  }),
}

/** Allows parameter properties: Nest injects dependencies through constructor parameters. */
const hashExceptParameters = {
  meta: { type: 'suggestion', docs: { description: 'private members are #members, except parameter properties' } },
  create: (context) => ({ MethodDefinition: check(context), PropertyDefinition: check(context) }),
}

export default {
  meta: { name: 'private-members' },
  rules: { hash, 'hash-except-parameters': hashExceptParameters },
}
