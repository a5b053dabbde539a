// Prints, as JSON: lists of the same tools as LangChain and Strands give them, and what zod says of arguments.
import { DynamicTool, tool as langchain } from '@langchain/core/tools'
import { convertToOpenAIFunction, convertToOpenAITool } from '@langchain/core/utils/function_calling'
import { toJsonSchema } from '@langchain/core/utils/json_schema'
import * as strands from '@strands-agents/sdk'
import * as z from 'zod'

const input = z.object({
  code: z.string().regex(/^[A-Z]{2}-\d{4,}$/u).describe('code of the parcel'),
  contact: z.email().optional(),
  stops: z.array(z.tuple([z.string(), z.number().int().positive()])).min(1),
  kind: z.enum(['letter', 'box']).nullable(),
  on: z.iso.date().optional(),
  labels: z.record(z.string().max(3), z.boolean()).optional(),
  target: z.discriminatedUnion('by', [z.object({ by: z.literal('name') }), z.object({ by: z.literal('number'), n: z.number().max(9) })]).optional(),
})
const json = { type: 'object', properties: { q: { type: 'string' } }, required: ['q'] }

const run = async () => 'x'
const tools = [
  langchain(run, { name: 'track', description: 'Track a parcel.', schema: input }),
  langchain(run, { name: 'find', description: 'Find a parcel.', schema: json }),
]
const text = new DynamicTool({ name: 'ask', description: 'Ask a person.', func: run })
const specs = [
  strands.tool({ name: 'track', description: 'Track a parcel.', inputSchema: input, callback: run }),
  strands.tool({ name: 'find', description: 'Find a parcel.', inputSchema: json, callback: run }),
]
const named = (of) => tools.map((t) => ({ name: t.name, description: t.description, ...of(t) }))

const good = { code: 'AB-1234', stops: [['x', 1]], kind: 'box' }
const judged = [
  good, { ...good, code: 'ab-1' }, { ...good, contact: 'a@example.com' }, { ...good, contact: '@' }, { ...good, stops: [] }, { ...good, stops: [['x', 0]] },
  { ...good, stops: [['x', 1, 2]] }, { ...good, kind: null }, { ...good, kind: 'bag' }, { ...good, on: '2024-02-29' }, { ...good, on: '2023-02-29' },
  { ...good, labels: { abc: true } }, { ...good, labels: { abcd: true } }, { ...good, target: { by: 'name' } }, { ...good, target: { by: 'number', n: 10 } }, {},
]

console.log(JSON.stringify({
  lists: {
    'LangChain, for OpenAI': tools.map((t) => convertToOpenAITool(t)),
    'LangChain, for OpenAI, strict': tools.map((t) => convertToOpenAITool(t, { strict: true })),
    'LangChain, functions': tools.map((t) => convertToOpenAIFunction(t)),
    'LangChain, args_schema': named((t) => ({ args_schema: toJsonSchema(t.schema) })),
    'LangChain, schema': named((t) => ({ schema: toJsonSchema(t.schema) })),
    'Strands, specifications': specs.map((t) => t.toolSpec),
    'Strands, for Bedrock': { toolConfig: { tools: specs.map((t) => ({ toolSpec: { ...t.toolSpec, inputSchema: { json: t.toolSpec.inputSchema } } })) } },
    'Strands, objects': specs,
  },
  text: [convertToOpenAITool(text)],
  objects: [...tools, text],
  zod: named((t) => ({ schema: t.schema })),
  judged: judged.map((args) => ({ args, valid: input.safeParse(args).success })),
}))
