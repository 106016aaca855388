/** Everything that is known about one continuous query. */
import { Anchor, Title } from "@mantine/core";
import { IconArrowLeft, IconCircleOff } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { Link } from "react-router";
import type { LiveQuery, StreamQueryDetail } from "../../../api/gen/types.ts";
import { ApiError } from "../../../api/http.ts";
import { useDatabaseNow } from "../../../api/use-database-now.ts";
import { Waiting } from "../../../components/data-table.tsx";
import { Empty, Unreadable } from "../../../components/empty.tsx";
import { conditionOf, type QueryCondition, reasonOf, wantedText } from "../query-condition.ts";
import { nameOf } from "../query-list.ts";
import { QuerySign } from "../query-sign.tsx";
import { useLiveQuery, useStreamQuery, useStreams } from "../use-streams.ts";
import { CheckpointsCard } from "./checkpoints-card.tsx";
import { FragmentsCard } from "./fragments-card.tsx";
import { HistoryCard } from "./history-card.tsx";
import { QueryActions } from "./query-actions.tsx";
import { QueryFigures } from "./query-figures.tsx";
import { QuerySide } from "./query-side.tsx";

export function QueryPage({ queryKey }: { readonly queryKey: string }) {
  const streams = useStreams();
  const { data: query, error } = useStreamQuery(queryKey);
  const nowMs = useDatabaseNow(streams.data?.clockOffsetMs ?? 0);
  const isGone = error instanceof ApiError && error.status === 404;
  if (isGone) {
    return (
      <Framed>
        <div className="card">
          {query === undefined ? (
            <Unreadable what="query" error={error} gone={`Nothing is called ${queryKey} here.`} />
          ) : (
            <Empty icon={IconCircleOff} title={`${nameOf(query)} is gone`}>
              <span>Every fragment is confirmed stopped, and its name is free again.</span>
            </Empty>
          )}
        </div>
      </Framed>
    );
  }
  return (
    <Framed>
      {query === undefined ? (
        <Waiting label="Query" error={error} />
      ) : (
        <Query query={query} nowMs={nowMs} />
      )}
    </Framed>
  );
}

function Framed({ children }: { readonly children: ReactNode }) {
  return (
    <>
      <Anchor component={Link} to="/streams" size="sm" className="detail-back">
        <IconArrowLeft size={14} /> Streams
      </Anchor>
      {children}
    </>
  );
}

interface QueryProps {
  readonly query: StreamQueryDetail;
  readonly nowMs: number;
}

function Query({ query, nowMs }: QueryProps) {
  const { data, error } = useLiveQuery(query.query_id);
  const live = figuresOf(query, data);
  return (
    <>
      <Head query={query} />
      <QueryFigures query={query} live={live} nowMs={nowMs} />
      <FragmentsCard query={query} live={live} error={error} />
      <div className="detail">
        <div className="detail-main">
          <CheckpointsCard live={data} nowMs={nowMs} />
          <HistoryCard query={query} nowMs={nowMs} />
        </div>
        <div className="detail-side">
          <QuerySide query={query} live={live} />
        </div>
      </div>
    </>
  );
}

/** Those of an older deployment say nothing about this one. */
function figuresOf(query: StreamQueryDetail, live: LiveQuery | undefined): LiveQuery | undefined {
  return live?.epoch === query.epoch ? live : undefined;
}

const reasonTones: Readonly<Partial<Record<QueryCondition, "bad" | "warn">>> = {
  failed: "bad",
  failing: "bad",
  stuck: "bad",
  partial: "warn",
  redeploying: "warn",
};

function Head({ query }: { readonly query: StreamQueryDetail }) {
  const condition = conditionOf(query);
  const reason = reasonOf(query);
  const wanted = wantedText(query);
  return (
    <>
      <div className="page-head detail-head">
        <Title order={1} className="detail-title">
          {nameOf(query)}
        </Title>
        <span role="status" aria-label="State">
          <QuerySign condition={condition} />
        </span>
        {wanted !== "" && <span className="dim">{wanted}</span>}
        <QueryActions query={query} />
      </div>
      {reason !== "" && (
        <p className="note" data-tone={reasonTones[condition]}>
          {query.error !== null && <strong className="mono">{query.error.code} </strong>}
          {reason}
        </p>
      )}
    </>
  );
}
