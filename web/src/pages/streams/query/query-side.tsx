/** What a query is: its statement, what it reads and writes, and what it promises. */
import type { LiveQuery, StreamQueryDetail } from "../../../api/gen/types.ts";
import { Card } from "../../../components/card.tsx";
import { CodeBlock } from "../../../components/code-block.tsx";
import { formatBytes, formatMoment } from "../../../format.ts";
import { totalsOf } from "./live-figures.ts";

interface QuerySideProps {
  readonly query: StreamQueryDetail;
  readonly live: LiveQuery | undefined;
}

export function QuerySide({ query, live }: QuerySideProps) {
  return (
    <>
      <Card title="Statement">
        <div className="card-body">
          <CodeBlock title="Statement" text={query.statement} />
        </div>
      </Card>
      <Card title="Facts">
        <dl className="facts card-body query-facts">
          <dt>Reads</dt>
          <dd>{listOf(query.logical_sources)}</dd>
          <dt>Writes to</dt>
          <dd>{listOf(query.sinks)}</dd>
          <dt>Guarantee</dt>
          <dd>{query.guarantee}</dd>
          <dt>State</dt>
          <dd title="Its windows, joins and buffers.">
            {formatBytes(live && totalsOf(live).stateBytes)}
          </dd>
          <dt>Epoch</dt>
          <dd title="Increases with each deployment.">{query.epoch}</dd>
          <dt>Id</dt>
          <dd>{query.query_id}</dd>
          <dt>Created</dt>
          <dd>{formatMoment(query.created_at_ms)}</dd>
        </dl>
      </Card>
    </>
  );
}

function listOf(names: readonly string[]): string {
  return names.length === 0 ? "nothing" : names.join(", ");
}
