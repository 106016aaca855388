/** Examples over Capstan's own metrics, shown before the first query. */
import { Card } from "../../components/card.tsx";

const suggestions = [
  { query: "up", text: "What is scraped, and whether it answered" },
  {
    query: "sum by (kind, outcome) (rate(capstan_query_duration_seconds_count[5m]))",
    text: "Queries per second, by kind and outcome",
  },
  {
    query:
      "histogram_quantile(0.95, sum by (le) (rate(capstan_query_duration_seconds_bucket[5m])))",
    text: "95 % of queries take less than this",
  },
  {
    query: "sum by (instance) (rate(capstan_process_cpu_seconds_total[1m]))",
    text: "Cores that each process uses",
  },
  { query: "capstan_process_resident_memory_bytes", text: "Memory of each process" },
] as const;

export function Suggestions({ onChoose }: { readonly onChoose: (query: string) => void }) {
  return (
    <Card title="Try one of these: Capstan watches itself">
      <ul className="suggestions">
        {suggestions.map(({ query, text }) => (
          <li key={query}>
            <button type="button" className="suggestion" onClick={() => onChoose(query)}>
              <span className="mono">{query}</span>
              <span className="dim">{text}</span>
            </button>
          </li>
        ))}
      </ul>
    </Card>
  );
}
