package board;

import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;

/** A page as it grows. */
final class Page {
  private static final DateTimeFormatter MINUTES = DateTimeFormatter.ofPattern("uuuu-MM-dd HH:mm").withZone(ZoneOffset.UTC);

  /** Every page has links to what can be asked for without knowing anything. */
  private static final String NAVIGATION =
      "<nav><a href=\"/StoriesOfTheDay\">Stories of the day</a> <a href=\"/Browse\">Browse</a> "
          + "<a href=\"/BrowseCategories\">Categories</a> <a href=\"/OlderStories\">Older stories</a> "
          + "<a href=\"/Search\">Search</a></nav>\n";

  private final StringBuilder body = new StringBuilder(8 << 10);

  @Override
  public String toString() {
    return body.toString();
  }

  Page begin(String title) {
    body.append("<!DOCTYPE html>\n<html lang=\"en\"><head><title>");
    text(title).append("</title></head>\n<body>\n").append(NAVIGATION);
    return element("h1", title);
  }

  Page end() {
    body.append("</body></html>\n");
    return this;
  }

  Page element(String name, String content) {
    body.append('<').append(name).append('>');
    text(content).append("</").append(name).append(">\n");
    return this;
  }

  /** A link to an interaction; parameters are names and values in turn. */
  Page link(String interaction, String text, Object... parameters) {
    body.append("<a href=\"/").append(interaction);
    for (int i = 0; i + 1 < parameters.length; i += 2) {
      body.append(i == 0 ? "?" : "&amp;").append(parameters[i]).append('=');
      body.append(URLEncoder.encode(parameters[i + 1].toString(), StandardCharsets.UTF_8));
    }
    body.append("\">");
    text(text).append("</a>\n");
    return this;
  }

  Page byline(String writer, long milliseconds) {
    body.append("<p>by ");
    text(writer).append(" on ");
    MINUTES.formatTo(Instant.ofEpochMilli(milliseconds), body);
    body.append("</p>\n");
    return this;
  }

  /** A form, and a link with a word that finds something. */
  void searchForm(String interaction, String what, String word) {
    element("p", what);
    body.append("<form action=\"/").append(interaction).append("\" method=\"get\">\n");
    body.append("<input type=\"text\" name=\"search\" value=\"").append(word).append("\">\n");
    body.append("<input type=\"submit\" value=\"Search\"></form>\n");
    link(interaction, word, "search", word);
  }

  private StringBuilder text(String s) {
    for (int i = 0; i < s.length(); i++) {
      char c = s.charAt(i);
      switch (c) {
        case '<' -> body.append("&lt;");
        case '>' -> body.append("&gt;");
        case '&' -> body.append("&amp;");
        case '"' -> body.append("&#34;");
        case '\'' -> body.append("&#39;");
        default -> body.append(c);
      }
    }
    return body;
  }
}
