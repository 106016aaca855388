/**
 * Sinks for records that cannot be read, which sources name by DEAD_LETTER_SINK. They are nodes
 * without inputs, added to the finished plan. Rules: SY80, SY81.
 */
import type { Catalog } from "../catalog.ts";
import type { Schema } from "../data-type.ts";
import { DialectError } from "../dialect-error.ts";
import type { Plan, PlanNode, SinkOp } from "../plan.ts";
import { meantOrKnown } from "../suggest.ts";
import { isSameName } from "./scope.ts";

const text = { name: "VARSIZED", nullable: false } as const;

/** The rows of a sink for malformed records. */
export const deadLetterSchema: Schema = ["source", "place", "reason", "record"].map((name) => ({
  name,
  type: text,
}));

/** The plan with a sink for each name that its sources give. */
export function addDeadLetterSinks(plan: Plan, catalog: Catalog): Plan {
  const nodes = [...plan.nodes];
  const known = new Set<string>();
  for (const { op } of plan.nodes) {
    if (op.kind !== "source" || op.parser.ON_MALFORMED !== "dead_letter") continue;
    const name = op.parser.DEAD_LETTER_SINK;
    if (typeof name !== "string") {
      throw new DialectError(1000, "ON_MALFORMED = 'dead_letter' needs a sink", {
        hint: "Add 'name' AS INPUT_FORMATTER.DEAD_LETTER_SINK to the settings of the source.",
      });
    }
    if (known.has(name.toUpperCase())) continue;
    known.add(name.toUpperCase());
    const sink = resolve(name, catalog);
    nodes.push({ id: nodes.length, inputs: [], op: sink, schema: deadLetterSchema });
  }
  return nodes.length === plan.nodes.length ? plan : { ...plan, nodes };
}

/** The node that takes the malformed records of a source. */
export function deadLetterNode(nodes: readonly PlanNode[], source: PlanNode): number | undefined {
  if (source.op.kind !== "source" || source.op.parser.ON_MALFORMED !== "dead_letter") {
    return undefined;
  }
  const name = String(source.op.parser.DEAD_LETTER_SINK);
  return nodes.find(
    ({ op, inputs, schema }) =>
      op.kind === "sink" &&
      inputs.length === 0 &&
      isSameName(op.name, name) &&
      isDeadLetterSchema(schema),
  )?.id;
}

function resolve(name: string, catalog: Catalog): SinkOp {
  const found = catalog.sink(name);
  if (found === undefined) {
    throw new DialectError(2033, `there is no sink ${name} for malformed records`, {
      hint: meantOrKnown(name, catalog.names("sink"), "sink"),
    });
  }
  const { schema, ...sink } = found;
  if (schema !== undefined && !isDeadLetterSchema(schema)) {
    throw new DialectError(2003, `the sink ${name} has other columns than malformed records`, {
      hint: "They are source, place, reason and record, all VARSIZED; a sink without columns takes any.",
    });
  }
  return { kind: "sink", ...sink };
}

function isDeadLetterSchema(schema: Schema): boolean {
  return (
    schema.length === deadLetterSchema.length &&
    deadLetterSchema.every(({ name }, index) => {
      const field = schema[index];
      return field !== undefined && isSameName(field.name, name) && field.type.name === "VARSIZED";
    })
  );
}
