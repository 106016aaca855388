/** Current problems, each with a link to the page where one can act. */
import { Anchor } from "@mantine/core";
import { IconAlertTriangle, IconCircleX } from "@tabler/icons-react";
import { Link } from "react-router";
import type { AttentionItem, AttentionList } from "../../api/gen/types.ts";
import { Card } from "../../components/card.tsx";
import { formatClock } from "../../format.ts";
import { runHref } from "../load/links.ts";
import { queryPath } from "../streams/links.ts";
import { tablePath } from "../tables/links.ts";

const kinds: Readonly<Record<AttentionItem["kind"], string>> = {
  part: "Part",
  worker: "Worker",
  dynamic_table: "Dynamic table",
  load_run: "Load test",
  scrape_target: "Scrape target",
  stream_query: "Continuous query",
};

export function AttentionCard({ attention }: { readonly attention: AttentionList }) {
  const { items, total } = attention;
  return (
    <Card
      title="Needs attention"
      className="attention"
      aside={<span className="dim">{total}</span>}
    >
      <ul className="attention-list">
        {items.map((item) => (
          <Row key={`${item.kind} ${item.id}`} item={item} />
        ))}
      </ul>
      {total > items.length && (
        <p className="dim attention-more">
          The first {items.length} of {total} are shown.
        </p>
      )}
    </Card>
  );
}

function Row({ item }: { readonly item: AttentionItem }) {
  const Icon = item.severity === "failed" ? IconCircleX : IconAlertTriangle;
  const tone = item.severity === "failed" ? "tone-bad" : "tone-warn";
  const href = hrefOf(item);
  return (
    <li className="attention-row">
      <Icon size={16} className={`attention-icon ${tone}`} aria-label={item.severity} />
      <div className="attention-text">
        <div>
          <span className="dim">{kinds[item.kind]} </span>
          {href === undefined ? (
            <strong>{item.name}</strong>
          ) : (
            <Anchor component={Link} to={href} size="sm" fw={600}>
              {item.name}
            </Anchor>
          )}{" "}
          {item.state}
          {item.since_ms !== null && (
            <span className="dim"> since {formatClock(item.since_ms)}</span>
          )}
        </div>
        {item.reason !== "" && <div className="dim attention-reason">{item.reason}</div>}
      </div>
    </li>
  );
}

/** The page where one can act. The reason of a part already says what to do. */
function hrefOf({ kind, id }: AttentionItem): string | undefined {
  switch (kind) {
    case "worker":
      return `/workers/${encodeURIComponent(id)}`;
    case "dynamic_table":
      return tablePath(id);
    case "load_run":
      return runHref(id);
    case "stream_query":
      return queryPath(id);
    case "scrape_target":
      return `/explore?${new URLSearchParams({ q: "up == 0", view: "table" })}`;
    default:
      return undefined;
  }
}
