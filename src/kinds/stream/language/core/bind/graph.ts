/**
 * The nodes of a plan while it is made. Equal nodes are one, so that what is written twice is
 * computed once; nodes that nothing reads in the end are left out.
 */
import type { Schema } from "../data-type.ts";
import { DialectError } from "../dialect-error.ts";
import type { PlanInput, PlanNode, PlanOp } from "../plan.ts";
import { planCharactersMax } from "../plan-size.ts";

export type GraphNode = Omit<PlanNode, "id">;

export class Graph {
  readonly #nodes: GraphNode[] = [];
  readonly #known = new Map<string, number>();
  /** A number for each text of an operator or a schema, so that the names of nodes are short. */
  readonly #parts = new Map<string, number>();
  /** Of all nodes that were added, also of those that were known. */
  #characters = 0;

  node(id: number): GraphNode {
    return this.#nodes[id] as GraphNode;
  }

  schema(id: number): Schema {
    return this.node(id).schema;
  }

  add(op: PlanOp, inputs: readonly (number | PlanInput)[], schema: Schema): number {
    const node: GraphNode = { inputs: inputs.map(toInput), op, schema };
    const inputsText = node.inputs.map((input) => `${input.node} ${input.shiftMs}`).join();
    const [opText, schemaText] = [textOf(op), textOf(schema)];
    this.#characters += inputsText.length + opText.length + schemaText.length + 2;
    if (this.#characters > planCharactersMax) throw tooLarge();
    const key = `${inputsText} ${this.#partOf(opText)} ${this.#partOf(schemaText)}`;
    const known = this.#known.get(key);
    if (known !== undefined && op.kind !== "sink") return known;
    this.#nodes.push(node);
    this.#known.set(key, this.#nodes.length - 1);
    return this.#nodes.length - 1;
  }

  #partOf(text: string): number {
    const known = this.#parts.get(text);
    if (known !== undefined) return known;
    this.#parts.set(text, this.#parts.size);
    return this.#parts.size - 1;
  }

  /** A copy of a node with other inputs. */
  withInputs(id: number, inputs: readonly (number | PlanInput)[]): number {
    const { op, schema } = this.node(id);
    return this.add(op, inputs, schema);
  }

  /** The nodes that the roots need, numbered anew; the map says where each root went. */
  extract(roots: readonly number[]): {
    readonly nodes: readonly PlanNode[];
    readonly places: ReadonlyMap<number, number>;
  } {
    const places = new Map<number, number>();
    const nodes: PlanNode[] = [];
    const visit = (id: number): void => {
      if (places.has(id)) return;
      const { op, inputs, schema } = this.node(id);
      for (const input of inputs) visit(input.node);
      places.set(id, nodes.length);
      const moved = inputs.map(({ node, shiftMs }) => ({
        node: places.get(node) as number,
        shiftMs,
      }));
      nodes.push({ id: nodes.length, inputs: moved, op, schema });
    };
    for (const root of roots) visit(root);
    return { nodes, places };
  }
}

/** Parts of plans never change, and most of them pass the optimizer's rules as they are. */
const texts = new WeakMap<object, string>();

function textOf(part: object): string {
  let text = texts.get(part);
  if (text === undefined) {
    text = JSON.stringify(part);
    texts.set(part, text);
  }
  return text;
}

function tooLarge(): DialectError {
  return new DialectError(2008, "the query is too large to be planned", {
    hint: "Views and queries of WITH count wherever they are used.",
  });
}

function toInput(input: number | PlanInput): PlanInput {
  return typeof input === "number" ? { node: input, shiftMs: 0 } : input;
}
