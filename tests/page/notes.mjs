// Notes of an invented project, for tests and pictures.
export const projectId = "tea-house";

const day = 86400000;
const rows = [
  ["lessons", "Retries doubled the orders", "The payment provider answered after 31 s, our client gave up after 30 s and retried. Orders were charged twice. Send an idempotency key with every charge.", ["payments", "bug"]],
  ["lessons", "Never cache the basket page", "A CDN cached /basket for 5 minutes and customers saw the baskets of others. The page now sends Cache-Control: private, no-store.", ["cdn", "security"]],
  ["lessons", "Migrations need a lock timeout", "ALTER TABLE orders waited for a long report and blocked all checkouts for 4 minutes. Set lock_timeout to 2 s and retry.", ["database", "bug"]],
  ["lessons", "Time zones of the delivery slots", "Slots were stored in local time and moved by an hour in March. Store UTC and show Asia/Tokyo.", ["bug", "dates"]],
  ["decisions", "PostgreSQL instead of MongoDB", "Orders, stock and invoices need transactions; the team knows SQL. Decided with Mika on the planning day.", ["database", "decision"]],
  ["decisions", "Prices are integers of yen", "No floating point for money anywhere: integers of the smallest unit, the currency beside it.", ["payments", "decision"]],
  ["decisions", "Server rendering for the shop", "The shop must work without JavaScript on old phones. Only the stock counter uses a script.", ["frontend", "decision"]],
  ["decisions", "One queue for all mails", "Order mails and newsletters share the queue, with priorities: an order mail overtakes.", ["mail", "decision"]],
  ["runbook", "Restart the label printer service", "systemctl restart labeld on host pack-2. The printer needs 40 s until it answers; do not restart it twice.", ["ops", "printer"]],
  ["runbook", "How to refund an order", "Open the order, Refund, choose the lines; stock returns by itself. The provider needs two days.", ["payments", "ops"]],
  ["runbook", "Rotate the signing key", "Make the new key, deploy both, wait one hour, remove the old one. The order matters.", ["security", "ops"]],
  ["runbook", "When stock is negative", "Run stock-recount for the warehouse; a sale and a return crossed. The report shows which.", ["stock", "ops"]],
  ["team", "Reviews before noon", "We review each other's changes before noon, so that nobody waits a day.", ["rule"]],
  ["team", "Aoi owns the warehouse API", "Ask Aoi before changing the fields of a parcel: two carriers read them.", ["people", "stock"]],
  ["team", "Count the matcha on Mondays", "Matcha runs out first. Count it every Monday, and call the wholesaler in Uji when fewer than 40 tins are left.", ["stock", "rule"]],
  ["global", "Style of commit messages", "area: what changes, at most 60 characters; the body says why.", ["rule"]],
  ["global", "Test data never contains real names", "Use the names of teas: Sencha, Hojicha, Genmaicha.", ["rule", "security"]],
  ["research", "Matcha whisks sell with bowls", "Customers who buy a whisk buy a bowl within three weeks. Show bowls on the whisk page.", ["sales"]],
  ["research", "Green tea gifts peak in December", "Gift boxes sell four times as much between 10 and 22 December; order boxes in October.", ["sales", "stock"]],
  ["research", "Slow photos lose phones", "Pages over 2 MB lose a fifth of visitors on phones. Photos are AVIF, 80 KB at most.", ["frontend", "sales"]],
];

// In days.
const ages = [0, 2.1, 9.3, 21, 34, 9.4, 21.2, 2.2, 2.3, 16, 27.1, 34.2, 21.1, 30, 9.2, 40, 41, 13, 2.25, 27];

export function notes(now = Date.now()) {
  return rows.map(([groupId, title, text, tags], i) => ({
    groupId, title, text, tags, createdAt: new Date(now - 3600000 - ages[i] * day).toISOString(),
    session: `plan-${i % 3}`,
  }));
}
