/** A result at one moment: a row for each series. */
import { useState } from "react";
import { DataTable } from "../../components/data-table.tsx";
import { formatCount } from "../../format.ts";
import { type PromqlResult, type ResultSeries, seriesText } from "./promql-result.ts";

const shownMax = 500;

export function ResultTable({ result }: { readonly result: PromqlResult }) {
  const [all, setAll] = useState(false);
  const shown = all ? result.series : result.series.slice(0, shownMax);
  const isSeries = result.resultType === "vector" || result.resultType === "matrix";
  const hidden = result.series.length - shown.length;
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard. */}
      <section className="result ql-result" tabIndex={0} aria-label="Result">
        <DataTable
          label="Series"
          columns={[
            {
              title: "Series",
              className: "mono ql-series",
              cell: ({ metric }) => (isSeries ? seriesText(metric) : result.resultType),
            },
            { title: "Value", className: "mono num", cell: valueText },
          ]}
          rows={shown}
          rowKey={({ key }) => key}
        />
      </section>
      {hidden > 0 && (
        <div className="result-note dim">
          The first {formatCount(shown.length)} of {formatCount(result.series.length)} series are
          shown.{" "}
          <button type="button" className="quiet" onClick={() => setAll(true)}>
            Show all
          </button>
        </div>
      )}
    </>
  );
}

function valueText({ values, histograms }: ResultSeries): string {
  const texts = values.map(([, value]) => value);
  for (const [, { count, sum }] of histograms) texts.push(`count ${count}, sum ${sum}`);
  if (texts.length <= 1) return texts[0] ?? "";
  return values.map(([seconds, value]) => `${value} @${seconds}`).join("\n");
}
