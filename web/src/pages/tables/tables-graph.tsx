/** The graph of tables and their conditions. Each table is a link to its own page. */
import { Link } from "react-router";
import type { DynamicTable } from "../../api/gen/types.ts";
import { Graph, type NodeProps } from "../../components/graph/graph.tsx";
import type { GraphNode, GraphSize } from "../../components/graph/graph-layout.ts";
import { formatLag, plural } from "../../format.ts";
import { tablePath } from "./links.ts";
import { conditionOf, lagOf, reasonOf, type TableCondition } from "./table-condition.ts";
import type { ListedTable } from "./table-list.ts";
import { conditionWord, TableIcon } from "./table-sign.tsx";

interface TablesGraphProps {
  readonly listed: readonly ListedTable[];
  readonly nowMs: number;
  /** The tables that match the filter; the others fade. Undefined without a filter. */
  readonly found: ReadonlySet<string> | undefined;
}

interface TableNode extends GraphNode {
  readonly listed: ListedTable;
}

const roomy: GraphSize = { width: 216, height: 54, gapX: 72, gapY: 14 };
const dense: GraphSize = { width: 176, height: 28, gapX: 64, gapY: 8 };
/** From this number of tables on, a table is a line instead of a card. */
const denseFrom = 30;

export function TablesGraph({ listed, nowMs, found }: TablesGraphProps) {
  const isDense = listed.length >= denseFrom;
  const nodes = listed.map((each): TableNode => {
    const sources = each.dynamic?.sources.map(({ name }) => name) ?? [];
    return { id: each.name, sources, listed: each };
  });
  const ids = new Set(nodes.map(({ id }) => id));
  const edgeCount = nodes.flatMap(({ sources }) => sources.filter((each) => ids.has(each))).length;
  return (
    <div className="card">
      <Graph
        label="Graph of tables"
        nodes={nodes}
        size={isDense ? dense : roomy}
        found={found}
        hint={`${plural(nodes.length, "table")}, ${plural(edgeCount, "edge")}; arrow keys follow them`}
        renderNode={(node, props) => (
          <TableLink listed={node.listed} props={props} isDense={isDense} nowMs={nowMs} />
        )}
      />
    </div>
  );
}

interface TableLinkProps {
  readonly listed: ListedTable;
  readonly props: NodeProps;
  readonly isDense: boolean;
  readonly nowMs: number;
}

function TableLink({ listed, props, isDense, nowMs }: TableLinkProps) {
  const { name, table, dynamic } = listed;
  const condition = dynamic === undefined ? "plain" : conditionOf(dynamic);
  const word = condition === "plain" ? "Table" : conditionWord(condition);
  const figure = dynamic === undefined ? plural(table?.row_count, "row") : figureOf(dynamic, nowMs);
  const reason = dynamic === undefined ? "" : reasonOf(dynamic);
  return (
    <Link
      {...props}
      to={tablePath(name)}
      className={isDense ? `${props.className} node-dense` : props.className}
      data-table={name}
      data-condition={condition}
      title={[name, `${word}, ${figure}`, reason].filter((text) => text !== "").join("\n")}
      aria-label={`${name}: ${word}, ${figure}${reason === "" ? "" : `, ${reason}`}`}
    >
      <TableIcon condition={condition} />
      <span className="node-name truncate">{name}</span>
      {isDense ? (
        isTrouble(condition) && <span className="node-word">{word}</span>
      ) : (
        <span className="node-line truncate">
          {condition === "plain" ? figure : <strong>{word}</strong>}
          {condition !== "plain" && <span className="dim"> {figure}</span>}
        </span>
      )}
    </Link>
  );
}

/** A dense graph shows the word only for tables that need attention; the others have a sign. */
function isTrouble(condition: TableCondition | "plain"): boolean {
  return ["failed", "late", "retrying", "suspended"].includes(condition);
}

function figureOf(table: DynamicTable, nowMs: number): string {
  const lagMs = lagOf(table, nowMs);
  if (lagMs === undefined) return "no contents yet";
  if (table.status === "SUSPENDED" || table.status === "FAILED") return `${formatLag(lagMs)} old`;
  const targetMs = table.effective_target_lag_ms;
  return targetMs === null ? formatLag(lagMs) : `${formatLag(lagMs)} of ${formatLag(targetMs)}`;
}
