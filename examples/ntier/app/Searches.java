package board;

import java.sql.SQLException;

/** Searches for what begins with a word. */
final class Searches {
  private static final String STORIES =
      "SELECT s.id, s.title, s.date, u.nickname FROM stories s JOIN users u ON u.id = s.writer"
          + " WHERE s.title >= ? AND s.title < ? ORDER BY s.title, s.id LIMIT ? OFFSET ?";
  private static final String COMMENTS =
      "SELECT c.story_id, c.id, c.subject, c.date, u.nickname FROM comments c JOIN users u ON u.id = c.writer"
          + " WHERE c.subject >= ? AND c.subject < ? ORDER BY c.subject, c.id LIMIT ? OFFSET ?";
  private static final String USERS =
      "SELECT nickname, rating, date FROM users WHERE nickname >= ? AND nickname < ? ORDER BY nickname LIMIT ? OFFSET ?";

  /** What follows is above all texts that begin with the same letters. */
  private static final String ABOVE = new String(Character.toChars(0x10FFFF));

  private final Page page;
  private final Queries db;

  Searches(Page page, Queries db) {
    this.page = page;
    this.db = db;
  }

  void stories(String text, int turned) throws SQLException {
    found("SearchInStories", STORIES, row -> page.link("ViewStory", row.getString(2), "story", row.getLong(1))
        .byline(row.getString(4), row.getLong(3)), text, turned);
  }

  void comments(String text, int turned) throws SQLException {
    found("SearchInComments", COMMENTS, row -> page
        .link("ViewComment", row.getString(3), "story", row.getLong(1), "comment", row.getLong(2))
        .byline(row.getString(5), row.getLong(4)), text, turned);
  }

  void users(String text, int turned) throws SQLException {
    found("SearchInUsers", USERS, row -> page.byline(row.getString(1), row.getLong(3))
        .element("p", "Rating: " + row.getLong(2)), text, turned);
  }

  private void found(String interaction, String query, Queries.Row row, String text, int turned) throws SQLException {
    page.begin("Found: " + text);
    int shown = db.each(query, row, text, text + ABOVE, Board.PAGE_SIZE, turned * Board.PAGE_SIZE);
    if (shown == 0) {
      page.element("p", "Nothing begins like that.");
    } else if (shown == Board.PAGE_SIZE) {
      page.link(interaction, "Next page", "search", text, "page", turned + 1);
    }
    page.end();
  }

  /** One of the thousand words of which {@code scalebench board load} makes texts. */
  static String word(int i) {
    String syllables = "bacedifogumalenirosu";
    StringBuilder word = new StringBuilder();
    for (int divisor = 100; divisor > 0; divisor /= 10) {
      int at = i / divisor % 10 * 2;
      word.append(syllables, at, at + 2);
    }
    return word.toString();
  }
}
