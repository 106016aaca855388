/** The graph of a query: from its sources over its fragments to its sinks. Pure. */
import type {
  LiveEdge,
  LiveFragment,
  LiveQuery,
  StreamQueryDetail,
} from "../../../api/gen/types.ts";
import type { EdgeLook } from "../../../components/graph/edge-labels.tsx";
import type { GraphNode } from "../../../components/graph/graph-layout.ts";
import { formatLag, formatPercent, formatRate, unknown } from "../../../format.ts";
import { backpressureMin, backpressureTone, frontOf, lagOf } from "./live-figures.ts";

type Deployed = StreamQueryDetail["deployed"][number];

export type QueryNode = GraphNode &
  (
    | { readonly kind: "source" | "sink"; readonly name: string }
    | {
        readonly kind: "fragment";
        readonly deployed: Deployed;
        readonly live: LiveFragment | undefined;
      }
  );

/** Without figures only the fragments are known, and not who sends to whom. */
export function nodesOf(
  { deployed }: Pick<StreamQueryDetail, "deployed">,
  live: LiveQuery | undefined,
): readonly QueryNode[] {
  const byName = new Map(live?.fragments.map((each) => [each.fragment, each]));
  const senders = Map.groupBy(live?.edges ?? [], ({ to }) => to);
  const fragments = deployed.map((row): QueryNode => {
    const figures = byName.get(row.fragment);
    const sources = (figures?.sources ?? []).map(sourceId);
    const before = (senders.get(row.fragment) ?? []).map(({ from }) => from);
    return {
      id: row.fragment,
      kind: "fragment",
      sources: [...sources, ...before],
      deployed: row,
      live: figures,
    };
  });
  const all = live?.fragments ?? [];
  const sources = [...new Set(all.flatMap((each) => each.sources))];
  const sinks = [...new Set(all.flatMap((each) => each.sinks))];
  return [
    ...sources.map(
      (name): QueryNode => ({ id: sourceId(name), kind: "source", name, sources: [] }),
    ),
    ...fragments,
    ...sinks.map((name): QueryNode => {
      const writers = all.filter((each) => each.sinks.includes(name));
      const before = writers.map(({ fragment }) => fragment);
      return { id: sinkId(name), kind: "sink", name, sources: before };
    }),
  ];
}

/** What goes along each edge at this moment. */
export function edgeLooks(live: LiveQuery): ReadonlyMap<string, EdgeLook> {
  const looks = new Map<string, EdgeLook>();
  const front = frontOf(live.fragments);
  for (const edge of live.edges)
    looks.set(edgeKey(edge.from, edge.to), betweenFragments(edge, front));
  for (const fragment of live.fragments) {
    const { fragment: name, sources, sinks } = fragment;
    const [source] = sources;
    const receives = live.edges.some(({ to }) => to === name);
    if (source !== undefined && sources.length === 1 && !receives) {
      const look = atTheEnds(`${source} to ${name}`, fragment.rows_in_per_second);
      looks.set(edgeKey(sourceId(source), name), look);
    }
    const [sink] = sinks;
    const sends = live.edges.some(({ from }) => from === name);
    if (sink !== undefined && sinks.length === 1 && !sends) {
      const look = atTheEnds(`${name} to ${sink}`, fragment.rows_out_per_second);
      looks.set(edgeKey(name, sinkId(sink)), look);
    }
  }
  return looks;
}

function betweenFragments(edge: LiveEdge, front: number | undefined): EdgeLook {
  const { from, to, rows_per_second: rate, backpressure_ratio: ratio } = edge;
  const lag = lagOf(edge, front);
  const behind = lag === undefined ? `watermark ${unknown}` : `${formatLag(lag)} behind`;
  const waits = `${formatPercent(ratio)} backpressure`;
  const tone = backpressureTone(ratio);
  return {
    lines: [`${formatRate(rate)} rows/s`, (ratio ?? 0) >= backpressureMin ? waits : behind],
    tone: tone === "good" ? undefined : tone,
    description: `${from} to ${to}: ${formatRate(rate)} rows/s, ${waits}, ${behind}`,
  };
}

function atTheEnds(way: string, rate: number | null): EdgeLook {
  const text = `${formatRate(rate)} rows/s`;
  return { lines: [text], description: `${way}: ${text}` };
}

export function edgeKey(from: string, to: string): string {
  return `${from}\n${to}`;
}

/** Sources and sinks may have the names of fragments. */
function sourceId(name: string): string {
  return `source ${name}`;
}

function sinkId(name: string): string {
  return `sink ${name}`;
}
