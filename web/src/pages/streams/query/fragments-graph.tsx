/** The graph of a query's fragments on their workers, with what goes along each edge. */
import { IconDatabaseImport, IconTableExport } from "@tabler/icons-react";
import { Link } from "react-router";
import type { LiveQuery, StreamQueryDetail } from "../../../api/gen/types.ts";
import { Graph, type NodeProps } from "../../../components/graph/graph.tsx";
import type { GraphSize } from "../../../components/graph/graph-layout.ts";
import { formatRate, plural } from "../../../format.ts";
import { edgeKey, edgeLooks, nodesOf, type QueryNode } from "./fragment-nodes.ts";
import { FragmentIcon, fragmentWord } from "./fragment-sign.tsx";
import { backpressureTone } from "./live-figures.ts";
import { useLostWorkers } from "./use-lost-workers.ts";

const size: GraphSize = { width: 164, height: 56, gapX: 104, gapY: 30 };

interface FragmentsGraphProps {
  readonly query: StreamQueryDetail;
  readonly live: LiveQuery | undefined;
}

export function FragmentsGraph({ query, live }: FragmentsGraphProps) {
  const nodes = nodesOf(query, live);
  const lost = useLostWorkers();
  const looks = live && edgeLooks(live);
  const workers = new Set(query.deployed.map(({ worker_id }) => worker_id)).size;
  const fragments = plural(query.deployed.length, "fragment");
  return (
    <Graph
      label="Graph of fragments"
      nodes={nodes}
      size={size}
      hint={`${fragments} on ${plural(workers, "worker")}; arrow keys follow the rows`}
      renderNode={(node, props) => <NodeLink node={node} props={props} lost={lost} />}
      edgeLook={(from, to) => looks?.get(edgeKey(from, to))}
    />
  );
}

interface NodeLinkProps {
  readonly node: QueryNode;
  readonly props: NodeProps;
  readonly lost: ReadonlySet<string>;
}

function NodeLink({ node, props, lost }: NodeLinkProps) {
  if (node.kind !== "fragment") {
    const Icon = node.kind === "source" ? IconDatabaseImport : IconTableExport;
    return (
      <Link {...props} to="/streams/definitions" className={`${props.className} stream-end`}>
        <Icon size={16} className="tone-dim" />
        <span className="node-name truncate">{node.name}</span>
        <span className="node-line dim">{node.kind}</span>
      </Link>
    );
  }
  const { fragment, worker_id: worker, state, state_reason } = node.deployed;
  return (
    <Link
      {...props}
      to={`/workers/${encodeURIComponent(worker)}`}
      className={`${props.className} stream-fragment`}
      data-state={state}
      data-lost={lost.has(worker)}
      data-fragment={fragment}
      data-pressure={backpressureTone(node.live?.backpressure_ratio)}
      title={[state_reason, ...(node.live?.operators ?? [])].join("\n")}
    >
      <FragmentIcon state={state} />
      <span className="node-name truncate">
        {worker} <span className="dim node-fragment">{fragment}</span>
      </span>
      <span className="node-line truncate">
        {lost.has(worker) ? "Worker unreachable" : lineOf(node)}
      </span>
    </Link>
  );
}

/** Its state, and once it runs what it does. */
function lineOf({ deployed, live }: Extract<QueryNode, { readonly kind: "fragment" }>): string {
  if (deployed.state !== "RUNNING") return fragmentWord(deployed.state);
  return `${formatRate(live?.rows_in_per_second)} rows/s in`;
}
