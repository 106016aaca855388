/**
 * Compares runs with the base: verdicts with reasons, all figures, and differences in the
 * configuration.
 */
import {
  IconAlertTriangle,
  IconArrowDownRight,
  IconArrowUpRight,
  IconEqual,
  IconHelpCircle,
} from "@tabler/icons-react";
import type { ComparisonVerdict, MetricDifference, RunComparison } from "../../../api/gen/types.ts";
import { Card } from "../../../components/card.tsx";
import { type Column, DataTable } from "../../../components/data-table.tsx";
import type { Sign, Tone } from "../../../components/state-sign.tsx";
import { valueText } from "../run/config-paths.ts";
import {
  chanceText,
  differenceText,
  intervalText,
  letterOf,
  metricName,
  metricValue,
} from "./compare-view.ts";

const verdicts: Readonly<Record<ComparisonVerdict, Sign>> = {
  IMPROVEMENT: { word: "Improvement", tone: "good", icon: IconArrowUpRight },
  NEUTRAL: { word: "Neutral", tone: "dim", icon: IconEqual },
  INCONCLUSIVE: { word: "Inconclusive", tone: "warn", icon: IconHelpCircle },
  WARNING: { word: "Warning", tone: "warn", icon: IconAlertTriangle },
  REGRESSION: { word: "Regression", tone: "bad", icon: IconArrowDownRight },
};

const tones: Readonly<Record<MetricDifference["verdict"], Tone>> = {
  better: "good",
  same: "dim",
  "slightly worse": "warn",
  worse: "bad",
  unsure: "warn",
};

interface ComparisonCardProps {
  readonly comparison: RunComparison;
  readonly base: string;
  readonly letter: string;
}

/** Each verdict with its reason. */
export function VerdictsCard({ comparisons }: { readonly comparisons: readonly RunComparison[] }) {
  return (
    <section className="card" aria-label="Verdicts">
      {comparisons.map(({ run_id: id, verdict, reasons }, index) => {
        const { word, tone, icon: Icon } = verdicts[verdict];
        return (
          <div key={id} className="comparison-verdict" data-verdict={verdict}>
            <Icon size={24} className={`tone-${tone}`} />
            <div>
              <strong>{word}</strong>{" "}
              <span className="dim">
                {letterOf(index + 1)} against {letterOf(0)}
              </span>
              <ul>
                {[...new Set(reasons)].map((reason) => (
                  <li key={reason}>{reason}</li>
                ))}
              </ul>
            </div>
          </div>
        );
      })}
    </section>
  );
}

export function ComparisonCard({ comparison, base, letter }: ComparisonCardProps) {
  return (
    <Card title={`${letter} against ${base}`} className="comparison">
      <Figures metrics={comparison.metrics} base={base} letter={letter} />
      <Configuration differences={comparison.configuration} base={base} letter={letter} />
    </Card>
  );
}

interface FiguresProps extends Pick<ComparisonCardProps, "base" | "letter"> {
  readonly metrics: readonly MetricDifference[];
}

function Figures({ metrics, base, letter }: FiguresProps) {
  const columns: readonly Column<MetricDifference>[] = [
    { title: "Figure", cell: metricName },
    {
      title: base,
      className: "num",
      cell: (each) => metricValue(each.metric, each.before, each.is_least[0]),
    },
    {
      title: letter,
      className: "num",
      cell: (each) => metricValue(each.metric, each.after, each.is_least[1]),
    },
    { title: "Change", className: "num", tone: toneOf, cell: differenceText },
    {
      title: "95 % interval",
      hint: "The true change lies within it with a confidence of 95 %",
      className: "num from-sm dim",
      cell: (each) => intervalText(each.interval_pct),
    },
    {
      title: "Chance of noise",
      hint: "The chance that noise alone makes such a difference",
      className: "num from-sm dim",
      cell: (each) => chanceText(each.p_value),
    },
    { title: "Verdict", tone: toneOf, cell: ({ verdict }) => verdict },
  ];
  return (
    <DataTable
      label={`Figures of ${letter} and ${base}`}
      columns={columns}
      rows={metrics}
      rowKey={({ metric, of }) => `${metric} ${of}`}
      rowProps={({ metric, of }) => ({ "data-metric": `${metric}/${of}` })}
    />
  );
}

function toneOf({ verdict }: MetricDifference): string {
  return `tone-${tones[verdict]}`;
}

interface ConfigurationProps extends Pick<ComparisonCardProps, "base" | "letter"> {
  readonly differences: RunComparison["configuration"];
}

function Configuration({ differences, base, letter }: ConfigurationProps) {
  if (differences.length === 0) {
    return <p className="dim run-note">Both runs have the same configuration.</p>;
  }
  return (
    <div className="comparison-configuration">
      <DataTable
        label={`Configuration of ${letter} and ${base}`}
        columns={[
          { title: "Setting", className: "mono", cell: ({ path }) => path },
          {
            title: base,
            className: "comparison-value",
            cell: ({ before }) => valueText(before),
          },
          {
            title: letter,
            className: "comparison-value",
            cell: ({ after }) => valueText(after),
          },
        ]}
        rows={differences}
        rowKey={({ path }) => path}
      />
    </div>
  );
}
