/** Analyses queries: SELECTs and set operations, with ORDER BY, LIMIT and DISTINCT. */
import { analyseBlock } from "./analyse-block.ts";
import { type Analysed, type Analysis, starOf } from "./analysis.ts";
import { columnValue, sourcesOf } from "./from-components.ts";
import { settled } from "./functions.ts";
import {
  type Block,
  type Component,
  hiddenColumns,
  type Relation,
  type SetOperation,
  type SetOperator,
} from "./relation.ts";
import { definite } from "./restriction.ts";
import { listOf, NotIncremental, type Tree, textOf, treeOf } from "./syntax.ts";

export async function analyseQuery(
  node: Tree,
  analysis: Analysis,
  isTop: boolean,
): Promise<Analysed> {
  let isDistinct = false;
  for (const modifier of listOf(node, "modifiers")) {
    switch (modifier.type) {
      case "ORDER_MODIFIER":
        // A table has no order. In a subquery, something may depend on the order.
        if (!isTop) throw new NotIncremental("ORDER BY inside a subquery is not followed");
        break;
      case "DISTINCT_MODIFIER":
        if (listOf(modifier, "distinct_on_targets").length > 0) {
          throw new NotIncremental("DISTINCT ON is not followed; QUALIFY row_number() = 1 is");
        }
        isDistinct = true;
        break;
      default:
        throw new NotIncremental("LIMIT and OFFSET depend on every row");
    }
  }
  const plain: Tree = { ...node, modifiers: [] };
  const inner = (child: Tree) => analyseQuery(child, analysis, false);
  switch (node.type) {
    case "SELECT_NODE": {
      const block = await analyseBlock(plain, analysis, inner);
      return isDistinct ? distinctOf(block, analysis) : block;
    }
    case "SET_OPERATION_NODE": {
      const operation = await analyseSet(plain, analysis, inner);
      return isDistinct ? distinctOf(operation, analysis) : operation;
    }
    default:
      throw new NotIncremental(`a ${textOf(node, "type")} is not followed`);
  }
}

/** DISTINCT as a grouping by all columns. */
function distinctOf({ relation, unsettled }: Analysed, analysis: Analysis): Analysed {
  const open = unsettled.rows ?? [...unsettled.columns.values()][0];
  if (open !== undefined) throw new NotIncremental(`${open.reason}, and DISTINCT compares it`);
  const leaf = "distinct_rows";
  const id = analysis.nextId();
  const names = relation.columns.map(({ name }) => name);
  const keys = names.map((name) => columnValue(leaf, name));
  const isFixed = relation.components.length === 0;
  const block: Block = {
    kind: "block",
    columns: relation.columns,
    from: {
      kind: "relation",
      leaf,
      relation,
      columns: names.map((name) => ({ name, as: name })),
    },
    where: undefined,
    items: names.map((name, index) => ({ name, value: definite(keys[index]), isRowKey: true })),
    groupBy: keys,
    having: undefined,
    qualify: undefined,
    own: isFixed ? undefined : { id, keys },
    hidden: [],
    components: isFixed ? [] : [ownComponent(id, names, [relation])],
  };
  const trees = starOf(leaf, relation.columns);
  return {
    relation: block,
    unsettled: settled,
    grouped: { items: trees, keys: trees, isSettled: true },
  };
}

function ownComponent(
  id: number,
  columns: readonly string[],
  relations: readonly Relation[],
): Component {
  const sources = sourcesOf(relations.flatMap(({ components }) => components));
  return { id, columns, guards: [], sources, rowsOf: undefined };
}

async function analyseSet(
  node: Tree,
  analysis: Analysis,
  inner: (node: Tree) => Promise<Analysed>,
): Promise<Analysed> {
  const type = textOf(node, "setop_type");
  if (!["UNION", "EXCEPT", "INTERSECT"].includes(type)) {
    throw new NotIncremental(`${type.replaceAll("_", " ")} is not followed`);
  }
  const isAll = node.setop_all !== false;
  const columns = await analysis.describe(node);
  const children = [treeOf(node, "left") ?? {}, treeOf(node, "right") ?? {}];
  const nodes = type === "UNION" && isAll ? children.flatMap(unionBranches) : children;
  const branches: Analysed[] = [];
  for (const child of nodes) branches.push(await inner(child));
  const relations = branches.map(({ relation }) => relation);
  if (type === "UNION") {
    const union: Analysed = {
      relation: unionAll(columns, relations, analysis),
      unsettled: {
        rows: branches.map(({ unsettled }) => unsettled.rows).find((open) => open !== undefined),
        columns: new Map(
          branches.flatMap(({ relation, unsettled }) =>
            relation.columns.flatMap(({ name }, index) => {
              const open = unsettled.columns.get(name);
              return open === undefined ? [] : [[definite(columns[index]).name, open] as const];
            }),
          ),
        ),
      },
      grouped: undefined,
    };
    return isAll ? union : distinctOf(union, analysis);
  }
  for (const { unsettled } of branches) {
    const open = unsettled.rows ?? [...unsettled.columns.values()][0];
    if (open !== undefined) throw new NotIncremental(`${open.reason}, and ${type} compares it`);
  }
  const id = analysis.nextId();
  const isFixed = relations.every(({ components }) => components.length === 0);
  const names = columns.map(({ name }) => name);
  const operation: SetOperation = {
    kind: "set",
    operator: `${type}${isAll ? " ALL" : ""}` as SetOperator,
    columns,
    branches: relations,
    branchColumn: undefined,
    own: isFixed ? undefined : id,
    hidden: [],
    components: isFixed ? [] : [ownComponent(id, names, relations)],
  };
  return { relation: operation, unsettled: settled, grouped: undefined };
}

function unionBranches(node: Tree): readonly Tree[] {
  const isUnionAll =
    node.type === "SET_OPERATION_NODE" &&
    textOf(node, "setop_type") === "UNION" &&
    node.setop_all !== false &&
    listOf(node, "modifiers").length === 0;
  if (!isUnionAll) return [node];
  return [treeOf(node, "left") ?? {}, treeOf(node, "right") ?? {}].flatMap(unionBranches);
}

function unionAll(
  columns: SetOperation["columns"],
  branches: readonly Relation[],
  analysis: Analysis,
): SetOperation {
  const branchColumn = `_branch_${analysis.nextId()}`;
  const hidden: { name: string; branch: number; column: string }[] = [];
  const components = branches.flatMap((branch, index) => {
    const expose = (column: string): string => {
      const position = branch.columns.findIndex(({ name }) => name === column);
      const visible = columns[position];
      if (visible !== undefined && visible.type === branch.columns[position]?.type) {
        return visible.name;
      }
      const known = hidden.find((entry) => entry.branch === index && entry.column === column);
      if (known !== undefined) return known.name;
      const name = hiddenColumns(branch).includes(column) ? column : `_key_${analysis.nextId()}`;
      hidden.push({ name, branch: index, column });
      return name;
    };
    return branch.components.map((component) => ({
      ...component,
      columns: component.columns.map(expose),
      guards: [
        ...component.guards.map((guard) => ({ ...guard, column: expose(guard.column) })),
        { column: branchColumn, branch: index },
      ],
    }));
  });
  return {
    kind: "set",
    operator: "UNION ALL",
    columns,
    branches,
    branchColumn,
    own: undefined,
    hidden,
    components,
  };
}
