/** What queries are made of: sources, sinks and views, and the workers that have room for them. */
import { Anchor } from "@mantine/core";
import { Link } from "react-router";
import type { StreamSink, StreamSource, StreamWorker } from "../../../api/gen/types.ts";
import { useWatched } from "../../../api/use-watched.ts";
import { Card } from "../../../components/card.tsx";
import { type Column, DataTable, Waiting } from "../../../components/data-table.tsx";
import { Meter } from "../../../components/meter.tsx";
import { ConditionSign } from "../../../components/state-sign.tsx";
import { formatCount, unknown } from "../../../format.ts";
import { type Streams, streamsKey, useStreams } from "../use-streams.ts";
import { schemaText, settingsText } from "./definition-texts.ts";

type PhysicalSource = Streams["physical_sources"][number];

export function DefinitionsPage() {
  const { data, error } = useStreams();
  useWatched("SELECT name FROM logical_sources", streamsKey);
  useWatched("SELECT source_type FROM physical_sources", streamsKey);
  useWatched("SELECT name FROM sinks", streamsKey);
  if (data === undefined) return <Waiting label="Definitions" error={error} />;
  return (
    <div className="stream-definitions">
      <Sources streams={data} />
      <Sinks sinks={data.sinks} />
      {data.views.length > 0 && <Views views={data.views} />}
      <Workers workers={data.workers} />
    </div>
  );
}

function Count({ count }: { readonly count: number }) {
  return <span className="dim">{formatCount(count)}</span>;
}

function Schema({ schema }: Pick<StreamSource, "schema">) {
  return <span className="mono">{schemaText(schema)}</span>;
}

function Sources({ streams: { sources, physical_sources: all } }: { readonly streams: Streams }) {
  const physical = Map.groupBy(all, (each) => each.logical_source);
  const columns: readonly Column<StreamSource>[] = [
    { title: "Name", className: "row-name", cell: ({ name }) => name },
    { title: "Kind", className: "from-sm nowrap", cell: ({ kind }) => kind.toLowerCase() },
    {
      title: "Columns",
      className: "definition-text",
      cell: ({ schema }) => <Schema schema={schema} />,
    },
  ];
  return (
    <Card title="Sources" aside={<Count count={sources.length} />}>
      <DataTable
        label="Sources"
        columns={columns}
        rows={sources}
        rowKey={({ source_id }) => source_id}
        rowProps={({ name }) => ({ "data-source": name })}
        detail={({ name, kind, definition }) =>
          definition !== null ? (
            <code className="mono dim">{definition}</code>
          ) : (
            kind === "LOGICAL" && <ReadFrom sources={physical.get(name) ?? []} />
          )
        }
        empty="There are none. CREATE LOGICAL SOURCE in the editor makes one."
      />
    </Card>
  );
}

function ReadFrom({ sources }: { readonly sources: readonly PhysicalSource[] }) {
  if (sources.length === 0) return <span className="tone-warn">It has nothing to read from.</span>;
  return (
    <ul className="definition-list">
      {sources.map(({ physical_source_id: id, type, worker_id, config, parser }) => (
        <li key={id}>
          <strong>{type}</strong>{" "}
          <span className="dim">
            {id}, on {worker_id ?? "any worker"}
            {settingsText({ ...config, ...parser }) !== "" && (
              <span className="mono">: {settingsText({ ...config, ...parser })}</span>
            )}
          </span>
        </li>
      ))}
    </ul>
  );
}

function Sinks({ sinks }: { readonly sinks: readonly StreamSink[] }) {
  const columns: readonly Column<StreamSink>[] = [
    { title: "Name", className: "row-name", cell: ({ name }) => name },
    { title: "Type", className: "nowrap", cell: ({ type }) => type },
    {
      title: "Columns",
      className: "definition-text from-sm",
      cell: ({ schema }) =>
        schema === null ? (
          <span className="dim">what it is given</span>
        ) : (
          <Schema schema={schema} />
        ),
    },
    {
      title: "Worker",
      className: "from-sm nowrap",
      cell: ({ worker_id }) => worker_id ?? <span className="dim">any</span>,
    },
  ];
  return (
    <Card title="Sinks" aside={<Count count={sinks.length} />}>
      <DataTable
        label="Sinks"
        columns={columns}
        rows={sinks}
        rowKey={({ sink_id }) => sink_id}
        rowProps={({ name }) => ({ "data-sink": name })}
        detail={({ config, formatter }) => (
          <code className="mono dim">{settingsText({ ...config, ...formatter })}</code>
        )}
        empty="There are none. CREATE SINK in the editor makes one."
      />
    </Card>
  );
}

function Views({ views }: { readonly views: readonly StreamSource[] }) {
  const columns: readonly Column<StreamSource>[] = [
    { title: "Name", className: "row-name", cell: ({ name }) => name },
    {
      title: "Columns",
      className: "definition-text",
      cell: ({ schema }) => <Schema schema={schema} />,
    },
  ];
  return (
    <Card title="Views" aside={<Count count={views.length} />}>
      <DataTable
        label="Views"
        columns={columns}
        rows={views}
        rowKey={({ source_id }) => source_id}
        detail={({ definition }) => <code className="mono dim">{definition}</code>}
      />
    </Card>
  );
}

function Workers({ workers }: { readonly workers: readonly StreamWorker[] }) {
  const columns: readonly Column<StreamWorker>[] = [
    {
      title: "Worker",
      className: "row-name",
      cell: ({ worker_id: id }) => (
        <Anchor component={Link} to={`/workers/${encodeURIComponent(id)}`} size="sm">
          {id}
        </Anchor>
      ),
    },
    { title: "State", cell: (worker) => <ConditionSign condition={conditionOf(worker)} /> },
    {
      title: "Slots used",
      className: "nowrap",
      cell: ({ slots, slots_used: used }) => (
        <span className="slots">
          <Meter ratio={slots === 0 ? undefined : used / slots} />{" "}
          <span className="dim">
            {formatCount(used)} of {formatCount(slots)}
          </span>
        </span>
      ),
    },
    { title: "Label", className: "from-md", cell: ({ label }) => label ?? unknown },
    {
      title: "Sends to",
      className: "from-md",
      cell: ({ peers }) =>
        peers.length === 0 ? <span className="dim">all</span> : peers.join(", "),
    },
  ];
  return (
    <Card title="Workers" aside={<Count count={workers.length} />}>
      <DataTable
        label="Workers"
        columns={columns}
        rows={workers}
        rowKey={({ worker_id }) => worker_id}
        rowProps={({ worker_id }) => ({ "data-worker": worker_id })}
        empty="No worker has joined yet: a query cannot be placed without one."
      />
    </Card>
  );
}

function conditionOf({ state, draining }: StreamWorker) {
  if (state === "UNREACHABLE") return "unreachable";
  return draining ? "draining" : "active";
}
