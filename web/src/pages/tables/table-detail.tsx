/** Everything known about one table. */
import { Anchor, Title } from "@mantine/core";
import { IconArrowLeft, IconTableOff } from "@tabler/icons-react";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import type { DynamicTable, DynamicTableDetail, LakeTable } from "../../api/gen/types.ts";
import { readJson } from "../../api/http.ts";
import { Card } from "../../components/card.tsx";
import { Empty } from "../../components/empty.tsx";
import { Figure } from "../../components/figure.tsx";
import {
  formatAgo,
  formatBytes,
  formatCount,
  formatDuration,
  formatLag,
  plural,
  unknown,
} from "../../format.ts";
import { LagCard } from "./lag-chart.tsx";
import { tablePath } from "./links.ts";
import { Preview } from "./preview.tsx";
import { RefreshHistory } from "./refresh-history.tsx";
import { TableActions } from "./table-actions.tsx";
import {
  conditionOf,
  lagOf,
  reasonOf,
  type TableCondition,
  targetText,
} from "./table-condition.ts";
import type { ListedTable } from "./table-list.ts";
import { TableIcon, TableSign } from "./table-sign.tsx";

interface TableDetailProps {
  readonly name: string;
  readonly listed: readonly ListedTable[];
  readonly nowMs: number;
}

export function TableDetail({ name, listed, nowMs }: TableDetailProps) {
  const found = listed.find((each) => each.name === name);
  if (found === undefined) {
    return (
      <div className="card">
        <Empty icon={IconTableOff} title={`There is no table ${name}`}>
          <Anchor component={Link} to="/tables" size="sm">
            To all tables
          </Anchor>
        </Empty>
      </div>
    );
  }
  const { table, dynamic } = found;
  const readers = dynamic?.readers ?? table?.readers ?? [];
  return (
    <>
      <Head name={name} dynamic={dynamic} />
      {dynamic === undefined ? (
        <PlainFigures table={table} />
      ) : (
        <DynamicFigures dynamic={dynamic} table={table} nowMs={nowMs} />
      )}
      <div className="detail">
        <div className="detail-main">
          {dynamic !== undefined && <DynamicParts dynamic={dynamic} nowMs={nowMs} />}
          <Preview name={name} rowCount={table?.row_count} snapshot={table?.changed_snapshot} />
        </div>
        <div className="detail-side">
          {dynamic !== undefined && <Definition dynamic={dynamic} />}
          <Neighbours
            title="Reads"
            names={dynamic?.sources.map((each) => each.name) ?? []}
            listed={listed}
          />
          <Neighbours title="Read by" names={readers} listed={listed} />
          <Columns table={table} />
        </div>
      </div>
    </>
  );
}

function Head({
  name,
  dynamic,
}: {
  readonly name: string;
  readonly dynamic: DynamicTable | undefined;
}) {
  const reason = dynamic === undefined ? "" : reasonOf(dynamic);
  return (
    <>
      <Anchor component={Link} to="/tables" size="sm" className="detail-back">
        <IconArrowLeft size={14} /> Tables
      </Anchor>
      <div className="page-head detail-head">
        <Title order={1} className="detail-title">
          {name}
        </Title>
        {dynamic === undefined ? (
          <span className="state dim">
            <TableIcon condition="plain" /> Table
          </span>
        ) : (
          <span role="status" aria-label="State">
            <TableSign condition={conditionOf(dynamic)} />
          </span>
        )}
        {dynamic !== undefined && <TableActions table={dynamic} />}
      </div>
      {dynamic !== undefined && reason !== "" && (
        <p className="note" data-tone={reasonTones[conditionOf(dynamic)]}>
          {reason}
        </p>
      )}
    </>
  );
}

interface DynamicFiguresProps {
  readonly dynamic: DynamicTable;
  readonly table: LakeTable | undefined;
  readonly nowMs: number;
}

const reasonTones: Readonly<Partial<Record<TableCondition, "bad" | "warn">>> = {
  failed: "bad",
  retrying: "bad",
  late: "warn",
  suspended: "warn",
};

function DynamicFigures({ dynamic, table, nowMs }: DynamicFiguresProps) {
  const { last_refresh, next_due_ms } = dynamic;
  const stopped = dynamic.status === "SUSPENDED" || dynamic.status === "FAILED";
  const dueMs = next_due_ms === null ? undefined : next_due_ms - nowMs;
  return (
    <dl className="card figures-strip">
      <Figure name="Lag" note={`target ${targetText(dynamic)}`}>
        {formatLag(lagOf(dynamic, nowMs))}
      </Figure>
      <Figure name="Last refresh" note={last_refresh === null ? "never" : actionWord(last_refresh)}>
        {last_refresh === null ? unknown : formatAgo(Math.max(0, nowMs - last_refresh.at_ms))}
      </Figure>
      <Figure name="Next" note={`takes about ${formatDuration(dynamic.expected_duration_ms)}`}>
        {stopped
          ? "stopped"
          : dynamic.activity !== "idle"
            ? dynamic.activity
            : dueMs === undefined
              ? "with its readers"
              : dueMs <= 0
                ? "due"
                : `in ${formatLag(dueMs)}`}
      </Figure>
      <Figure name="Mode" note={dynamic.mode_reason}>
        {dynamic.mode === "FULL" ? "Full" : "Incremental"}
        {dynamic.mode_wish === "AUTO" && <span className="dim figure-aside">auto</span>}
      </Figure>
      <Figure
        name="Rows"
        note={`${formatBytes(table?.size_bytes)} in ${plural(table?.file_count, "file")}`}
      >
        {formatCount(table?.row_count)}
      </Figure>
      <Figure name="Targets missed" note="since it was created">
        {formatCount(dynamic.lag_missed_count)}
      </Figure>
    </dl>
  );
}

function PlainFigures({ table }: { readonly table: LakeTable | undefined }) {
  return (
    <dl className="card figures-strip">
      <Figure name="Rows" note={plural(table?.columns.length, "column")}>
        {formatCount(table?.row_count)}
      </Figure>
      <Figure name="Size" note={plural(table?.file_count, "file")}>
        {formatBytes(table?.size_bytes)}
      </Figure>
      <Figure name="Changed" note="the commit that last changed it">
        snapshot {formatCount(table?.changed_snapshot)}
      </Figure>
    </dl>
  );
}

function DynamicParts({
  dynamic,
  nowMs,
}: {
  readonly dynamic: DynamicTable;
  readonly nowMs: number;
}) {
  const version = [dynamic.last_refresh?.at_ms, dynamic.status, dynamic.failures_in_a_row].join();
  return (
    <>
      <LagCard table={dynamic} version={version} />
      <RefreshHistory name={dynamic.name} nowMs={nowMs} version={version} />
    </>
  );
}

function Definition({ dynamic }: { readonly dynamic: DynamicTable }) {
  const { data, error } = useQuery({
    queryKey: ["table-detail", dynamic.name, dynamic.table_id],
    queryFn: ({ signal }) =>
      readJson<DynamicTableDetail>(`/api/v1/dynamic-tables/${encodeURIComponent(dynamic.name)}`, {
        signal,
      }),
    placeholderData: keepPreviousData,
    retry: false,
  });
  return (
    <Card title="Definition">
      <div className="card-body">
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard. */}
        <section className="definition" tabIndex={0} aria-label="SQL">
          <pre className="mono">{data?.definition ?? error?.message ?? "…"}</pre>
        </section>
        <p className="dim definition-note">
          {dynamic.mode === "INCREMENTAL" ? "Refreshed incrementally" : "Refreshed in full"}:{" "}
          {dynamic.mode_reason}
        </p>
      </div>
    </Card>
  );
}

interface NeighboursProps {
  readonly title: string;
  readonly names: readonly string[];
  readonly listed: readonly ListedTable[];
}

function Neighbours({ title, names, listed }: NeighboursProps) {
  if (names.length === 0) return null;
  const conditionByName = new Map(
    listed.map(
      ({ name, dynamic }) =>
        [name, dynamic === undefined ? "plain" : conditionOf(dynamic)] as const,
    ),
  );
  return (
    <Card title={title} aside={<span className="dim">{names.length}</span>}>
      <ul className="neighbours">
        {names.map((name) => (
          <li key={name}>
            <Link to={tablePath(name)}>
              <TableIcon condition={conditionByName.get(name) ?? "plain"} />
              <span className="truncate">{name}</span>
            </Link>
          </li>
        ))}
      </ul>
    </Card>
  );
}

function Columns({ table }: { readonly table: LakeTable | undefined }) {
  if (table === undefined) return null;
  return (
    <Card title="Columns" aside={<span className="dim">{table.columns.length}</span>}>
      <dl className="columns">
        {table.columns.map(({ name, type, nullable }) => (
          <div key={name}>
            <dt className="truncate" title={name}>
              {name}
            </dt>
            <dd className="mono dim">
              {type.toLowerCase()}
              {!nullable && " not null"}
            </dd>
          </div>
        ))}
      </dl>
    </Card>
  );
}

function actionWord({ state, action }: NonNullable<DynamicTable["last_refresh"]>): string {
  if (state !== "SUCCEEDED") return state.toLowerCase();
  return action === "NO_DATA" ? "sources unchanged" : (action ?? state).toLowerCase();
}
